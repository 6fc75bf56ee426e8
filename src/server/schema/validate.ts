/**
 * Validates a value against its schema like kube-openapi: all checks that apply are made, in the same order, even after failures.
 * Called by crds/resources.ts for objects and by crds/defaults.ts for defaults. CEL rules are in cel/rule-validator.ts.
 */
import type { Json, JsonObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { type FieldError, quote } from '../field-errors.ts'
import { Correlation } from './correlate.ts'
import { checkNumber, isNearlyInteger } from './numbers.ts'
import type { Junctors, Limits, SchemaNode } from './structural.ts'
import { toDouble, typeOf, type ValueType } from './values.ts'
import { Violations } from './violations.ts'

export interface ValidateOptions {
  /** The path of the value in its object; prepended to the paths of errors. */
  readonly prefix?: string
  /** The old value on an update: errors of unchanged parts are ignored (ratcheting). */
  readonly old?: Json
}

export function validateValue(node: SchemaNode, value: Json, options: ValidateOptions = {}): FieldError[] {
  const violations = new Violations(options.prefix)
  check(node, value, { path: '', violations, correlation: undefined })
  if (violations.found.length === 0) return []
  if (options.old === undefined) return violations.errors()
  // Most updates are valid, so old values are looked up only after a failure.
  const remaining = new Violations(options.prefix)
  const correlation = new Correlation(node, value, options.old)
  checkCorrelated(node, value, { path: '', violations: remaining, correlation })
  return remaining.errors()
}

interface ValidationPosition {
  readonly path: string
  readonly violations: Violations
  readonly correlation: Correlation | undefined
}

/** Ignores errors of unchanged values. Returns the number of passed checks: see `check`. */
function checkCorrelated(node: SchemaNode, value: Json, place: ValidationPosition): number {
  const { correlation } = place
  const { found } = place.violations
  const before = found.length
  const passed = check(node, value, place)
  if (correlation && found.length > before && correlation.isUnchanged()) found.length = before
  return passed
}

/**
 * Returns a number that grows with the passed checks. It is used for one purpose: if all schemas of an `anyOf` fail, the errors of the
 * one with the highest number are reported.
 */
function check(node: SchemaNode, value: Json, place: ValidationPosition): number {
  const type = typeOf(value)
  if (type === 'null') return checkNull(node, place)
  let passed = 1
  if (node.types.length > 0 || node.format !== '') passed += checkType(node, value, type, place) ? 2 : 1
  passed += node.junctors ? 2 + checkJunctors(node.junctors, value, place) : 2
  if (type === 'string') passed += checkText(node, value as string, place)
  else if (type === 'integer' || type === 'number') {
    checkNumber(node, toDouble(value), place.path, place.violations)
    passed += 2
  } else if (type === 'array') passed += 2 + checkItems(node, value as Json[], place)
  if (node.enum.length > 0 && !isInEnum(node.enum, value)) place.violations.enumFailed(place.path, value, node.enum)
  passed += 1
  return type === 'object' ? passed + 1 + checkFields(node, value as JsonObject, place) : passed
}

/** Null fails the type check unless nullable, and every enum, even one that lists null; all other checks pass. */
function checkNull(node: SchemaNode, { path, violations }: ValidationPosition): number {
  const isWrong = node.types.length > 0 && !node.nullable
  if (isWrong) violations.typeFailed(path, node.types.join(','), 'null')
  if (node.enum.length > 0) violations.enumFailed(path, null, node.enum)
  return isWrong ? 0 : 1
}

/** The Go type of a JSON number, which a format is compared with. */
function goFormat(type: ValueType): string {
  if (type === 'integer') return 'int64'
  return type === 'number' ? 'float64' : ''
}

function checkType({ types, format }: SchemaNode, value: Json, type: ValueType, place: ValidationPosition): boolean {
  const isWholeNumber = type === 'number' && types.includes('integer') && isNearlyInteger(value as number)
  const fits = types.includes(type) || isWholeNumber || (type === 'integer' && types.includes('number'))
  const isTextual = type === 'string' || type === 'array'
  if (!isTextual && format !== '' && !fits && format !== goFormat(type)) {
    place.violations.typeFailed(place.path, format, goFormat(type))
    return false
  }
  // If a string format is declared, any string or list passes the type check; the format is checked later.
  if (isTextual && format !== '' && !types.includes('number') && !types.includes('integer')) return true
  if (!fits) place.violations.typeFailed(place.path, types.join(','), type)
  return fits
}

function checkText(node: SchemaNode, text: string, { path, violations }: ValidationPosition): number {
  const { limits, pattern } = node
  if (limits?.maxLength !== undefined && text.length > limits.maxLength && countRunes(text) > limits.maxLength) {
    violations.tooLong(path, limits.maxLength)
  } else if (limits?.minLength !== undefined && isShorter(text, limits.minLength)) {
    violations.valueFailed(path, text, `should be at least ${limits.minLength} chars long`)
  } else if (pattern && !pattern.test(text)) {
    violations.valueFailed(path, text, `should match '${node.source.pattern}'`)
  }
  if (!node.formatCheck) return 1
  if (!node.formatCheck(text)) violations.typeFailed(path, node.format, text)
  return 2
}

/** Characters are counted only if necessary: none is longer than two code units. */
function isShorter(text: string, length: number): boolean {
  return text.length < length * 2 && countRunes(text) < length
}

function countRunes(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function checkItems(node: SchemaNode, list: readonly Json[], place: ValidationPosition): number {
  const { path, violations, correlation } = place
  const { items, limits } = node
  let passed = 0
  for (let index = 0; items && index < list.length; index += 1) {
    const child = { path: `${path}[${index}]`, violations, correlation: correlation?.item(index) }
    passed += checkCorrelated(items, list[index]!, child)
  }
  if (limits) checkItemLimits(limits, list, place)
  return passed
}

function checkItemLimits(limits: Limits, list: readonly Json[], { path, violations }: ValidationPosition): void {
  const { minItems, maxItems, uniqueItems } = limits
  const size = list.length
  if (minItems !== undefined && size < minItems) {
    violations.valueFailed(path, size, `should have at least ${minItems} items`)
  }
  if (maxItems !== undefined && size > maxItems) violations.tooMany(path, size, maxItems, 'items')
  if (uniqueItems && list.some((one, index) => list.slice(0, index).some((other) => isDeepEqual(one, other)))) {
    violations.valueFailed(path, '', "shouldn't contain duplicates")
  }
}

function checkFields(node: SchemaNode, object: JsonObject, place: ValidationPosition): number {
  const { path, violations } = place
  const { properties, additional, limits } = node
  const keys = Object.keys(object)
  if (limits) checkFieldLimits(limits, keys.length, place)
  let passed = 0
  if (additional) for (const key of keys) passed += checkAdditional(node, object, key, place)
  if (properties.size > 0) {
    for (const key of keys) {
      const child = properties.get(key)
      if (child) passed += checkField(child, key, object[key]!, path === '' ? key : `${path}.${key}`, place)
    }
  }
  for (const key of node.required) if (!Object.hasOwn(object, key)) violations.requiredMissing(`${path}.${key}`)
  return passed
}

function checkFieldLimits(
  { minProperties, maxProperties }: Limits,
  size: number,
  { path, violations }: ValidationPosition,
): void {
  if (minProperties !== undefined && size < minProperties) {
    violations.valueFailed(path, size, `should have at least ${minProperties} properties`)
  }
  if (maxProperties !== undefined && size > maxProperties) {
    violations.tooMany(path, size, maxProperties, 'properties')
  }
}

function checkAdditional(node: SchemaNode, object: JsonObject, key: string, place: ValidationPosition): number {
  if (node.properties.has(key)) return 0
  const { allowed, node: child } = node.additional!
  if (!allowed) place.violations.propertyForbidden(place.path, key)
  return child ? checkField(child, key, object[key]!, `${place.path}.${key}`, place) : 0
}

function checkField(node: SchemaNode, key: string, value: Json, path: string, place: ValidationPosition): number {
  // The object's own kind and apiVersion always look unchanged, because both states were converted to the same version.
  const isFixed = place.path === '' && (key === 'kind' || key === 'apiVersion')
  const correlation = isFixed ? undefined : place.correlation?.field(key)
  return checkCorrelated(node, value, { path, violations: place.violations, correlation })
}

const texts = new WeakMap<readonly Json[], ReadonlySet<Json>>()

function textsOf(allowed: readonly Json[]): ReadonlySet<Json> {
  const known = texts.get(allowed) ?? new Set(allowed)
  texts.set(allowed, known)
  return known
}

/** A number matches an integer of the enum if it equals it after truncation, as Go converts numbers. */
function isInEnum(allowed: readonly Json[], value: Json): boolean {
  // Most enums are strings, and some are long.
  if (typeof value === 'string') return textsOf(allowed).has(value)
  return allowed.some((one) => {
    if (typeof one === 'number' && typeof value === 'number' && Number.isInteger(one)) return one === Math.trunc(value)
    return one !== null && isDeepEqual(one, value)
  })
}

function checkJunctors(junctors: Junctors, value: Json, place: ValidationPosition): number {
  const { path, violations } = place
  let passed = 0
  if (junctors.anyOf.length > 0) passed += checkAnyOf(junctors.anyOf, value, place)
  if (junctors.oneOf.length > 0) passed += checkOneOf(junctors.oneOf, value, place)
  if (junctors.allOf.length > 0) passed += checkAllOf(junctors.allOf, value, place)
  if (junctors.not && attempt(junctors.not, value, place).failures.length === 0) {
    violations.wholeFailed(`${quote(path)} must not validate the schema (not)`)
  }
  return passed
}

interface SchemaAttempt {
  readonly passed: number
  readonly failures: Violations['found']
}

/** Validates without reporting: removes its failures from the list again. */
function attempt(node: SchemaNode, value: Json, place: ValidationPosition): SchemaAttempt {
  const { found } = place.violations
  const before = found.length
  const passed = check(node, value, place)
  return { passed, failures: found.splice(before) }
}

function report(failures: SchemaAttempt['failures'], { violations }: ValidationPosition): void {
  for (const failure of failures) violations.found.push(failure)
}

/** The attempt with the most passed checks; the first of equals. */
function bestOf(attempts: readonly SchemaAttempt[]): SchemaAttempt {
  return attempts.reduce((best, one) => (one.passed > best.passed ? one : best))
}

function checkAnyOf(nodes: readonly SchemaNode[], value: Json, place: ValidationPosition): number {
  const attempts: SchemaAttempt[] = []
  for (const node of nodes) {
    const one = attempt(node, value, place)
    if (one.failures.length === 0) return one.passed
    attempts.push(one)
  }
  place.violations.wholeFailed(`${quote(place.path)} must validate at least one schema (anyOf)`)
  const best = bestOf(attempts)
  report(best.failures, place)
  return best.passed
}

function checkOneOf(nodes: readonly SchemaNode[], value: Json, place: ValidationPosition): number {
  const attempts = nodes.map((node) => attempt(node, value, place))
  const valid = attempts.filter(({ failures }) => failures.length === 0)
  if (valid.length === 1) return valid[0]!.passed
  const why = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`
  const message = `${quote(place.path)} must validate one and only one schema (oneOf). ${why}`
  place.violations.wholeFailed(message)
  if (valid.length > 0) return 0
  const best = bestOf(attempts)
  report(best.failures, place)
  return best.passed
}

function checkAllOf(nodes: readonly SchemaNode[], value: Json, place: ValidationPosition): number {
  const attempts = nodes.map((node) => attempt(node, value, place))
  for (const { failures } of attempts) report(failures, place)
  const valid = attempts.filter(({ failures }) => failures.length === 0).length
  if (valid < nodes.length) {
    const none = valid === 0 ? '. None validated' : ''
    place.violations.wholeFailed(`${quote(place.path)} must validate all the schemas (allOf)${none}`)
  }
  return attempts.reduce((sum, { passed }) => sum + passed, 0)
}
