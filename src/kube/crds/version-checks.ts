/**
 * Validates the options of `defineResource` that only the CRD needs, as apiextensions.k8s.io/v1 validates a CRD version: columns, scale, rules,
 * selectable fields, deprecation. Paths are looked up in the schemas. Called by resource-checks.ts.
 */
import { isPlainObject } from '../../util/json/json.ts'
import { checkOptions, createCheck, flag, integer, type OptionCheck, oneOf, text } from '../../util/option-checks.ts'
import { findPath, type SchemaPath, suggestPath } from './schema-paths.ts'
import type { Schema } from './structural-schema.ts'
import type { CelRule, CrdVersionOptions, PrinterColumn, ScaleFields } from './version-options.ts'

/** The kind of the resource, its declared fields, and the function that throws the error. */
interface CheckContext {
  readonly kind: string
  /** Converts the schemas, so it is called only if there is a path to look up. */
  readonly declared: () => Schema
  readonly fail: (problem: string) => never
}

const columnTypes = oneOf('string', 'integer', 'number', 'boolean', 'date')
const columnFormats = oneOf('int32', 'int64', 'float', 'double', 'byte', 'date', 'date-time', 'password')
const reasons = oneOf('FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate')
const anyText: OptionCheck<string> = createCheck('a string', (value) => typeof value === 'string')
const oneLine: OptionCheck<string> = createCheck(
  'a string of one line that is not empty',
  (value): value is string => typeof value === 'string' && value.trim() !== '' && !/[\r\n]/.test(value),
)
const expression: OptionCheck<string> = createCheck(
  'a CEL expression that is not empty',
  (value): value is string => typeof value === 'string' && value.trim() !== '',
)

const columnChecks: Readonly<Record<keyof PrinterColumn, OptionCheck>> = {
  ...{ name: text, path: text, type: columnTypes, priority: integer(0), description: anyText, format: columnFormats },
}
const scaleChecks: Readonly<Record<keyof ScaleFields, OptionCheck>> = {
  ...{ specReplicas: text, statusReplicas: text, selector: text },
}
const ruleChecks: Readonly<Record<keyof CelRule, OptionCheck>> = {
  ...{ rule: expression, message: oneLine, messageExpression: expression },
  ...{ reason: reasons, fieldPath: text, optionalOldSelf: flag },
}

export function checkVersionOptions(options: CrdVersionOptions, context: CheckContext): void {
  checkColumns(options.printerColumns, context)
  checkScale(options.scale, context)
  checkRules(options.rules, context)
  checkSelectableFields(options.selectableFields, context)
  checkDeprecation(options.deprecated, context)
  for (const name of ['served', 'storage', 'preserveUnknownFields'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'boolean')
      context.fail(`"${name}" must be true or false`)
  }
  if (options.description !== undefined && typeof options.description !== 'string') {
    context.fail('"description" must be a string')
  }
  checkTexts('labels', options.labels, context)
  checkTexts('annotations', options.annotations, context)
}

function checkColumns(columns: unknown, context: CheckContext): void {
  const seen = new Set<string>()
  for (const [at, given] of listOf('printerColumns', columns, context).entries()) {
    const within = inside(`printerColumns[${at}]`, context)
    const { name, path } = checkEntry<PrinterColumn>(given, columnChecks, ['name', 'path'], within)
    if (seen.has(name.toUpperCase())) {
      within.fail(`there are two columns "${name}", and kubectl prints names in upper case: rename one of them`)
    }
    seen.add(name.toUpperCase())
    // A path that begins with a dot may be any JSONPath, for example with a filter.
    if (!path.startsWith('.')) lookUp(path, within)
  }
}

function checkScale(scale: unknown, context: CheckContext): void {
  if (scale === undefined) return
  const within = inside('scale', context)
  const given = checkEntry<ScaleFields>(scale, scaleChecks, ['specReplicas', 'statusReplicas'], within)
  const { specReplicas, statusReplicas, selector } = given
  checkScaleField('specReplicas', specReplicas, { parents: ['spec'], types: ['integer', 'number'] }, within)
  checkScaleField('statusReplicas', statusReplicas, { parents: ['status'], types: ['integer', 'number'] }, within)
  if (selector === undefined) return
  checkScaleField('selector', selector, { parents: ['spec', 'status'], types: ['string'] }, within)
}

interface ScaleTarget {
  readonly parents: readonly string[]
  readonly types: readonly string[]
}

function checkScaleField(name: string, given: string, { parents, types }: ScaleTarget, context: CheckContext): void {
  const path = withoutDot(given)
  if (!parents.some((parent) => path.startsWith(`${parent}.`))) {
    context.fail(`"${name}" is '${path}', but must be a field in ${parents.join(' or ')}`)
  }
  const found = lookUp(path, context)
  if (found.type !== 'declared' || isOneOf(found.schema['type'], types)) return
  context.fail(
    `"${name}" is '${path}', which is not ${types.includes('string') ? 'a string' : 'a number'} in the schema`,
  )
}

function checkRules(rules: unknown, context: CheckContext): void {
  for (const [at, given] of listOf('rules', rules, context).entries()) {
    const within = inside(`rules[${at}]`, context)
    const { rule, message, messageExpression, fieldPath } = checkEntry<CelRule>(given, ruleChecks, ['rule'], within)
    if (/[\r\n]/.test(rule) && message === undefined && messageExpression === undefined) {
      within.fail('a rule of several lines needs a "message", since the API server would print the rule as the message')
    }
    if (fieldPath === undefined || fieldPath.startsWith('.')) continue
    const found = lookUp(fieldPath, within)
    if (found.type === 'open' || /^(?:metadata|apiVersion|kind)\b/.test(fieldPath)) {
      within.fail(`"fieldPath" is '${fieldPath}', but must be a field that the schema of spec or status declares`)
    }
  }
}

const maxSelectableFields = 8

function checkSelectableFields(fields: unknown, context: CheckContext): void {
  const seen = new Set<string>()
  const within = inside('selectableFields', context)
  for (const given of listOf('selectableFields', fields, context)) {
    if (typeof given !== 'string' || given === '') within.fail(`${JSON.stringify(given)} is not a path`)
    const path = withoutDot(given as string)
    if (seen.has(path)) within.fail(`'${path}' is listed twice`)
    seen.add(path)
    checkSelectable(path, lookUp(path, within), within)
  }
  if (seen.size > maxSelectableFields) {
    within.fail(
      `there are ${seen.size} fields, but the API server allows ${maxSelectableFields}: use labels for the others`,
    )
  }
}

function checkSelectable(path: string, found: SchemaPath, { fail }: CheckContext): void {
  if (/^(?:metadata|apiVersion|kind)\b/.test(path)) fail(`'${path}' is not in spec or status: metadata needs labels`)
  if (found.type !== 'declared') {
    fail(
      `'${path}' is not declared in the schema, but the API server selects by declared fields only: add it to the schema`,
    )
  } else if (!isOneOf(found.schema['type'], ['string', 'integer', 'boolean'])) {
    const type = String(found.schema['type'] ?? 'unknown')
    fail(`'${path}' has the type ${type}, but only strings, integers and booleans can be selected by`)
  }
}

const maxWarningBytes = 256

function checkDeprecation(deprecated: unknown, { fail }: CheckContext): void {
  if (deprecated === undefined || typeof deprecated === 'boolean') return
  if (typeof deprecated !== 'string' || deprecated === '')
    fail('"deprecated" must be true, false or the text of the warning')
  const bytes = new TextEncoder().encode(deprecated as string).length
  if (bytes > maxWarningBytes) {
    fail(`its deprecation warning has ${bytes} bytes, but the API server allows ${maxWarningBytes}: shorten it`)
  }
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(deprecated as string)) {
    fail('its deprecation warning has a line break or another character that cannot be printed: use one line of text')
  }
}

function checkTexts(name: string, texts: unknown, { fail }: CheckContext): void {
  if (texts === undefined) return
  if (isPlainObject(texts) && Object.values(texts).every((value) => typeof value === 'string')) return
  fail(`"${name}" must be an object with strings, such as { "example.com/team": "storage" }`)
}

/** Fails for a path that the schema does not have. */
function lookUp(path: string, { kind, declared, fail }: CheckContext): SchemaPath {
  const found = findPath(declared(), path)
  if (found.type !== 'missing') return found
  const suggestion = suggestPath(declared(), path)
  const advice = suggestion === undefined ? 'add the field to the schema' : `did you mean '${suggestion}'?`
  return fail(`'${path}' is not a path of ${kind}; ${advice}`)
}

function checkEntry<T extends object>(
  given: unknown,
  checks: Readonly<Record<keyof T, OptionCheck>>,
  required: readonly (keyof T & string)[],
  { fail }: CheckContext,
): T {
  if (!isPlainObject(given)) fail(`it must be an object with ${required.map((name) => `"${name}"`).join(' and ')}`)
  const missing = required.find((name) => (given as Partial<T>)[name] === undefined)
  if (missing !== undefined) fail(`it has no "${missing}"`)
  return checkOptions(given as T, checks, fail)
}

function listOf(name: string, value: unknown, { fail }: CheckContext): readonly unknown[] {
  if (value !== undefined && !Array.isArray(value)) fail(`"${name}" must be a list`)
  return (value ?? []) as readonly unknown[]
}

/** Adds the name of the option to error messages. */
function inside(place: string, context: CheckContext): CheckContext {
  return { ...context, fail: (problem) => context.fail(`${place}: ${problem}`) }
}

function withoutDot(path: string): string {
  return path.startsWith('.') ? path.slice(1) : path
}

function isOneOf(type: unknown, types: readonly string[]): boolean {
  return typeof type === 'string' && types.includes(type)
}
