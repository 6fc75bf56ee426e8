/**
 * Checks that a schema is structural: every field has a type, and `anyOf`, `allOf`, `oneOf` and `not` only restrict fields
 * specified outside them. Pruning and defaulting depend on it. Called by validate-schema.ts.
 */

import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { type FieldError, forbidden, formatFieldError, invalid, required } from '../field-errors.ts'
import { patternProblem } from '../schema/patterns.ts'
import type { JsonSchema } from '../schema/structural.ts'
import { validateCompleteness } from './completeness.ts'

type Level = 'root' | 'item' | 'field'

const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

/** Sorted by their text. */
export function validateStructural(path: string, schema: JsonSchema): FieldError[] {
  const errors = [...validateInvariants(schema, 'root', path), ...validateCompleteness(schema, path)]
  const texts = new Map(errors.map((error) => [error, formatFieldError(error)]))
  return errors.sort((left, right) => (texts.get(left)! < texts.get(right)! ? -1 : 1))
}

function validateInvariants(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { type = '', items, properties = {}, additionalProperties } = schema
  const errors: FieldError[] = []
  if (type === 'array' && items === undefined) errors.push(required(`${path}.items`, 'must be specified'))
  if (isPlainObject(items)) errors.push(...validateInvariants(items as JsonSchema, 'item', `${path}.items`))
  for (const [name, child] of Object.entries(properties)) {
    errors.push(...validateInvariants(child, 'field', `${path}.properties[${name}]`))
  }
  if (additionalProperties !== undefined && level === 'root') {
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'))
  }
  if (isPlainObject(additionalProperties)) {
    errors.push(...validateInvariants(additionalProperties as JsonSchema, 'field', `${path}.additionalProperties`))
  }
  return [
    ...errors,
    ...validateExtensions(schema, path),
    ...validateJunctors(
      schema,
      isIntOrStringPattern(schema.anyOf),
      isIntOrStringPattern(schema.allOf?.[0]?.anyOf),
      path,
    ),
    ...validateTypes(schema, level, path),
    ...validateMetadata(schema, level, path),
  ]
}

function validateExtensions(schema: JsonSchema, path: string): FieldError[] {
  if (!schema['x-kubernetes-int-or-string']) return []
  const names = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const
  return names
    .filter((name) => schema[name])
    .map((name) => invalid(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'))
}

function validateTypes(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { type = '' } = schema
  const errors: FieldError[] = []
  const isEmbedded = schema['x-kubernetes-embedded-resource'] ?? false
  const isFree = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields']
  if (isEmbedded && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    errors.push(type === '' ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail))
  } else if (type === '' && !isFree) {
    errors.push(required(`${path}.type`, emptyType[level]))
  }
  if (isEmbedded && schema.additionalProperties !== undefined) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set'
    errors.push(forbidden(`${path}.additionalProperties`, detail))
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalid(`${path}.type`, type, 'must be object at the root'))
  }
  return errors
}

function validateMetadata(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { properties = {} } = schema
  const isEmbedded = schema['x-kubernetes-embedded-resource'] ?? false
  const isResource = level === 'root' || isEmbedded
  const errors: FieldError[] = []
  for (const name of isResource ? ['kind', 'apiVersion'] : []) {
    const child = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (child && child.type !== 'string') {
      errors.push(invalid(`${path}.properties[${name}].type`, child.type ?? '', 'must be string'))
    }
  }
  const metadata = Object.hasOwn(properties, 'metadata') ? properties['metadata'] : undefined
  if (metadata && isResource && metadata.type !== 'object') {
    errors.push(invalid(`${path}.properties[metadata].type`, metadata.type ?? '', 'must be object'))
  }
  if (metadata && level === 'root' && restrictsMetadata(metadata)) {
    const detail = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
    errors.push(forbidden(`${path}.properties[metadata]`, detail))
  }
  if (isEmbedded && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
    errors.push(required(`${path}.properties`, detail))
  }
  return errors
}

/** True if the schema restricts anything but `name` and `generateName`. Defaults are rejected elsewhere. */
function restrictsMetadata({ type: _type, default: _default, properties, ...rest }: JsonSchema): boolean {
  const names = Object.keys(properties ?? {})
  return Object.keys(rest).length > 0 || names.some((name) => name !== 'name' && name !== 'generateName')
}

/** The only `anyOf` in which types are allowed: the verbose form of int-or-string. */
function isIntOrStringPattern(anyOf: JsonSchema[] | undefined): boolean {
  return anyOf !== undefined && isDeepEqual(anyOf, [{ type: 'integer' }, { type: 'string' }])
}

function validateJunctors(schema: JsonSchema, skipAnyOf: boolean, skipFirstAllOf: boolean, path: string): FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern = '' } = schema
  const errors: FieldError[] = []
  if (!skipAnyOf)
    errors.push(...anyOf.flatMap((child, index) => validateNested(child, false, `${path}.anyOf[${index}]`)))
  const isSkipped = (index: number): boolean => skipFirstAllOf && index === 0
  errors.push(...allOf.flatMap((child, index) => validateNested(child, isSkipped(index), `${path}.allOf[${index}]`)))
  errors.push(...oneOf.flatMap((child, index) => validateNested(child, false, `${path}.oneOf[${index}]`)))
  if (not) errors.push(...validateNested(not, false, `${path}.not`))
  const problem = pattern === '' ? undefined : patternProblem(pattern)
  if (problem !== undefined) {
    errors.push(invalid(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`))
  }
  return errors
}

/** Keywords that are forbidden under `anyOf`, `allOf`, `oneOf` and `not`, with the real server's messages. */
const forbiddenNested: ReadonlyArray<readonly [keyof JsonSchema, string]> = [
  ['type', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
]

function validateNested(schema: JsonSchema, skipAnyOf: boolean, path: string): FieldError[] {
  const { items, properties = {}, additionalProperties } = schema
  const errors = validateJunctors(schema, skipAnyOf, false, path)
  if (isPlainObject(items)) errors.push(...validateNested(items as JsonSchema, false, `${path}.items`))
  for (const [name, child] of Object.entries(properties)) {
    errors.push(...validateNested(child, false, `${path}.properties[${name}]`))
  }
  for (const [name, detail] of forbiddenNested) {
    if (schema[name] !== undefined) errors.push(forbidden(`${path}.${name}`, detail))
  }
  if (additionalProperties !== undefined && additionalProperties !== false) {
    errors.push(forbidden(`${path}.additionalProperties`, 'must be undefined to be structural'))
  }
  if (Object.hasOwn(properties, 'metadata')) {
    errors.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'))
  }
  return errors
}
