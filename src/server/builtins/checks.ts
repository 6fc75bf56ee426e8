/** Validation shared by many kinds, with the messages of apimachinery and core. Field paths are full paths. */

import { goJson } from '../../util/json/go-json.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../field-errors.ts'
import { labelProblems, labelValueProblems, qualifiedNameProblems, subdomainProblems } from '../names.ts'
import { isEqual } from './values.ts'

export interface LabelSelectorSpec {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }>
}

export type IntOrString = number | string

/** One error per problem of the value. */
export function problemsAt(path: string, value: unknown, problems: readonly string[]): FieldError[] {
  return problems.map((problem) => invalid(path, value, problem))
}

/** Prints the value with its fields in struct order, as Go prints structs. `goJson` sorts keys, as Go does for maps only. */
export function inFieldOrder(error: FieldError, value: unknown): FieldError {
  if (typeof value !== 'object' || value === null) return error
  const text = JSON.stringify(value).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)
  return { ...error, body: error.body.replace(goJson(value), () => text) }
}

export function checkNonNegative(path: string, value: number | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : []
}

/** Checks several counters of one object. */
export function checkCounters(path: string, values: object, names: readonly string[]): FieldError[] {
  return names.flatMap((name) =>
    checkNonNegative(`${path}.${name}`, (values as Record<string, number | undefined>)[name]),
  )
}

export function checkImmutable(path: string, value: unknown, old: unknown): FieldError[] {
  return isEqual(value, old) ? [] : [inFieldOrder(invalid(path, value, 'field is immutable'), value)]
}

/** `supported` is in the order of the real server's error message. */
export function checkOneOf(path: string, value: string | null | undefined, supported: readonly string[]): FieldError[] {
  return value === undefined || value === null || supported.includes(value)
    ? []
    : [notSupported(path, value, supported)]
}

export function rangeProblem(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`
}

export function portProblems(port: number): string[] {
  return port >= 1 && port <= 65535 ? [] : [rangeProblem(1, 65535)]
}

export function portNameProblems(name: string): string[] {
  const problems: string[] = []
  if (name.length > 15) problems.push('must be no more than 15 bytes')
  if (!/^[-a-z0-9]+$/.test(name))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(name)) problems.push('must contain at least one letter (a-z)')
  if (name.includes('--')) problems.push('must not contain consecutive hyphens')
  if (name.startsWith('-') || name.endsWith('-')) problems.push('must not begin or end with a hyphen')
  return problems
}

export function checkPort(path: string, port: IntOrString): FieldError[] {
  return problemsAt(path, port, typeof port === 'number' ? portProblems(port) : portNameProblems(port))
}

export function checkLabel(path: string, value: string): FieldError[] {
  return problemsAt(path, value, labelProblems(value))
}

export function checkSubdomain(path: string, value: string): FieldError[] {
  return problemsAt(path, value, subdomainProblems(value))
}

/** All labels are reported under the same path: the real server names the value but not the key. */
export function checkLabels(path: string, labels: Readonly<Record<string, string>> | undefined): FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...problemsAt(path, key, qualifiedNameProblems(key)),
    ...problemsAt(path, value, labelValueProblems(value)),
  ])
}

export function checkLabelSelector(path: string, selector: LabelSelectorSpec | undefined): FieldError[] {
  if (!selector) return []
  const errors = checkLabels(`${path}.matchLabels`, selector.matchLabels)
  for (const [index, requirement] of (selector.matchExpressions ?? []).entries()) {
    errors.push(...checkRequirement(`${path}.matchExpressions[${index}]`, requirement))
  }
  return errors
}

type SelectorExpression = NonNullable<LabelSelectorSpec['matchExpressions']>[number]

function checkRequirement(path: string, { key, operator, values = [] }: SelectorExpression): FieldError[] {
  const errors: FieldError[] = []
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      errors.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      errors.push(forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
  } else errors.push(invalid(`${path}.operator`, operator, 'not a valid selector operator'))
  errors.push(...problemsAt(`${path}.key`, key, qualifiedNameProblems(key)))
  for (const [index, value] of values.entries())
    errors.push(...problemsAt(`${path}.values[${index}]`, value, labelValueProblems(value)))
  return errors
}

/** True if the real server can convert the LabelSelector into a selector; requirements or labels with errors make that fail. */
export function isUsableSelector(selector: LabelSelectorSpec | undefined): boolean {
  return (
    (selector?.matchExpressions ?? []).every((requirement) => checkRequirement('', requirement).length === 0) &&
    checkLabels('', selector?.matchLabels).length === 0
  )
}

/** An absent selector matches nothing, an empty selector matches everything. */
export function selectorMatches(
  selector: LabelSelectorSpec | undefined,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  if (!selector) return false
  const has = (key: string): boolean => Object.hasOwn(labels, key)
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => has(key) && labels[key] === value)
  const expressions = (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
    if (operator === 'In') return has(key) && values.includes(labels[key]!)
    if (operator === 'NotIn') return !has(key) || !values.includes(labels[key]!)
    return operator === 'Exists' ? has(key) : !has(key)
  })
  return exact && expressions
}

export function isEmptySelector(selector: LabelSelectorSpec | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0
}

function percentProblems(text: string): string[] {
  const rule = "a valid percent string must be a numeric string followed by an ending '%'"
  return /^[0-9]+%$/.test(text) ? [] : [`${rule} (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`]
}

export function checkIntOrPercent(path: string, value: IntOrString): FieldError[] {
  return typeof value === 'number' ? checkNonNegative(path, value) : problemsAt(path, value, percentProblems(value))
}

export function checkAtMost100Percent(path: string, value: IntOrString): FieldError[] {
  const percent = typeof value === 'string' && percentProblems(value).length === 0 ? Number.parseInt(value, 10) : 0
  return percent > 100 ? [invalid(path, value, 'must not be greater than 100%')] : []
}

/** The number of an integer or a percentage; 0 for any other text. */
export function intOrPercentValue(value: IntOrString): number {
  return typeof value === 'number' ? value : Number.parseInt(value, 10) || 0
}
