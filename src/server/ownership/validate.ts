/**
 * Validates a value against its field type, with kube-apiserver's messages. Goes as deep as the schema; values without a schema may
 * have any depth and are not visited.
 */
import type { Json } from '../../util/json/json.ts'
import { type Recursion, runRecursion } from '../../util/recursion.ts'
import { formatValue, quote } from '../field-errors.ts'
import { type FieldType, fitsAnything, type ListType, type MapType } from './field-types.ts'
import { printElement } from './path-elements.ts'
import { asList, asMap, elementOfItem, FieldTypeError, formOf } from './values.ts'

interface FieldTypeProblem {
  readonly path: string
  readonly message: string
}

/** Throws a FieldTypeError. `allowDuplicates`: list items may repeat, as in stored objects; in applied configurations they may not. */
export function checkFields(
  type: FieldType,
  value: Json,
  { allowDuplicates = false }: { readonly allowDuplicates?: boolean } = {},
): void {
  const problems = validate(type, value, allowDuplicates)
  if (problems.length === 0) return
  const lines = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  throw new FieldTypeError(lines.length === 1 ? lines[0] : ['errors:', ...lines.map((line) => `  ${line}`)].join('\n'))
}

/** Like checkFields, with a prefix for the message. */
export function checkFieldsOf(what: string, type: FieldType, value: Json): void {
  try {
    checkFields(type, value)
  } catch (error) {
    throw error instanceof FieldTypeError ? new FieldTypeError(`${what}: ${error.message}`) : error
  }
}

/** True if the value fits its type. Used for all writes: duplicates are allowed, and no messages are created. */
export function fitsType(type: FieldType, value: Json): boolean {
  if (value === null || fitsAnything(type)) return true
  const form = formOf(type, value)
  if (form === 'scalar') return isScalar(type.scalar!, value)
  if (form === 'list') return Array.isArray(value) && fitsList(type.list!, value)
  const map = asMap(value)
  if (map === undefined) return false
  const { fields, element } = type.map!
  for (const key of Object.keys(map)) {
    const child = fields.get(key) ?? element
    if (child === undefined || !fitsType(child, map[key]!)) return false
  }
  return true
}

function fitsList(type: ListType, list: readonly Json[]): boolean {
  return list.every((item) => (type.isAtomic || hasElement(type, item)) && fitsType(type.element, item))
}

function hasElement(type: ListType, item: Json): boolean {
  try {
    elementOfItem(type, item)
    return true
  } catch {
    return false
  }
}

function isScalar(scalar: NonNullable<FieldType['scalar']>, value: Json): boolean {
  const kind = typeof value === 'bigint' ? 'number' : typeof value
  return kind === scalar || (scalar === 'any' && kind !== 'object')
}

function validate(type: FieldType, value: Json, allowDuplicates: boolean): FieldTypeProblem[] {
  if (fitsAnything(type)) return []
  switch (formOf(type, value)) {
    case 'map':
      return validateMap(type.map!, value, allowDuplicates)
    case 'list':
      return validateList(type.list!, value, allowDuplicates)
    default:
      return validateScalar(type.scalar!, value)
  }
}

function problem(message: string): FieldTypeProblem[] {
  return [{ path: '', message }]
}

function at(element: string, problems: FieldTypeProblem[]): FieldTypeProblem[] {
  if (problems.length === 0) return problems
  const prefix = printElement(element)
  return problems.map(({ path, message }) => ({ path: prefix + path, message }))
}

function validateScalar(scalar: NonNullable<FieldType['scalar']>, value: Json): FieldTypeProblem[] {
  if (value === null || isScalar(scalar, value)) return []
  if (scalar === 'number') return problem(`expected numeric (int or float), got ${goTypeOf(value)}`)
  if (scalar === 'string') return problem(`expected string, got &value.valueUnstructured{Value:${goValueOf(value)}}`)
  return problem(`expected ${scalar === 'any' ? 'any scalar' : scalar}, got ${printed(value)}`)
}

function goTypeOf(value: Json): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  return typeof value === 'boolean' ? 'bool' : typeof value === 'number' ? 'float64' : typeof value
}

function goValueOf(value: Json): string {
  return runRecursion(printSource(value))
}

function* printSource(value: Json): Recursion<string> {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ', '}${yield printSource(item)}`
    return `[]interface {}{${text}}`
  }
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ', '}${quote(key)}:${yield printSource(value[key]!)}`
  }
  return `map[string]interface {}{${text}}`
}

/** A value as Go prints its wrapper. */
function printed(value: Json): string {
  return `&{${typeof value === 'string' ? value : goPlain(value)}}`
}

function goPlain(value: Json): string {
  return runRecursion(printPlain(value))
}

function* printPlain(value: Json): Recursion<string> {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return formatValue(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) text += `${index === 0 ? '' : ' '}${yield printPlain(item)}`
    return `[${text}]`
  }
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ' '}${key}:${yield printPlain(value[key]!)}`
  }
  return `map[${text}]`
}

function validateMap(type: MapType, value: Json, allowDuplicates: boolean): FieldTypeProblem[] {
  if (value === null) return []
  const map = asMap(value)
  if (map === undefined) return problem(`expected map, got ${printed(value)}`)
  const problems: FieldTypeProblem[] = []
  for (const key of Object.keys(map).sort()) {
    const child = type.fields.get(key) ?? type.element
    // kube-apiserver does not check the fields after an undeclared one.
    if (child === undefined) return [...problems, ...at(`f:${key}`, problem('field not declared in schema'))]
    problems.push(...at(`f:${key}`, validate(child, map[key]!, allowDuplicates)))
  }
  return problems
}

function validateList(type: ListType, value: Json, allowDuplicates: boolean): FieldTypeProblem[] {
  if (value === null) return []
  const list = asList(value)
  if (list === undefined) return problem(`expected list, got ${printed(value)}`)
  const problems: FieldTypeProblem[] = []
  const seen = new Set<string>()
  for (const [index, item] of list.entries()) {
    let element = `i:${index}`
    if (!type.isAtomic) {
      try {
        element = elementOfItem(type, item)
      } catch (error) {
        if (!(error instanceof FieldTypeError)) throw error
        return [...problems, ...problem(`element ${index}: ${error.message}`)]
      }
      const isRepeated = seen.has(element) && !allowDuplicates
      if (isRepeated) problems.push(...problem(`duplicate entries for key ${printElement(element)}`))
      seen.add(element)
    }
    problems.push(...at(element, validate(type.element, item, allowDuplicates)))
  }
  return problems
}
