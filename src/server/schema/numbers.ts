/**
 * Limits of numbers, as in Go: a whole number is an int64, so fractions of its limits are cut off; all other numbers are float64.
 * Called by validate.ts for every number, whatever type the schema has.
 */
import type { Limits, SchemaNode } from './structural.ts'
import type { Violations } from './violations.ts'

const maxInt32 = 2 ** 31 - 1
const maxFloat32 = 3.4028234663852886e38

/** Go's `%v`: below 1e-4 with an exponent of at least two digits. */
export function formatFloat(value: number): string {
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  return String(value)
}

/** True if the number does not fit the type and format of the schema. */
function isOutOfRange(value: number, { types, format }: SchemaNode): boolean {
  const type = types.length === 1 ? types[0] : ''
  if (type === 'integer') {
    if (!Number.isInteger(value)) return true
    return format === 'int32' ? value > maxInt32 || value < -maxInt32 - 1 : Math.abs(value) >= 2 ** 63
  }
  return type === 'number' && format === 'float' && Math.abs(value) > maxFloat32
}

function rangeMessage(what: string, { types, format }: SchemaNode, path: string): string {
  const kind = format === '' ? `${types[0]} (default format)` : `${types[0]} with format ${format}`
  return `${what} value must be of type ${kind} in ${path}`
}

/** A limit that does not fit the type is reported for every value, and then compared unchanged. */
function limitOf(limit: number, what: string, context: NumberContext): { limit: number; asInteger: boolean } {
  const { node, path, value, violations } = context
  const isOut = isOutOfRange(limit, node)
  if (isOut) violations.wholeFailed(rangeMessage(what, node, path))
  const asInteger = !isOut && Number.isInteger(value)
  return { limit: asInteger ? Math.trunc(limit) : limit, asInteger }
}

interface NumberContext {
  readonly node: SchemaNode
  readonly value: number
  readonly path: string
  readonly violations: Violations
}

export function checkNumber(node: SchemaNode, value: number, path: string, violations: Violations): void {
  if (isOutOfRange(value, node)) violations.wholeFailed(rangeMessage('Checked', node, path))
  const { limits } = node
  if (!limits) return
  const context = { node, value, path, violations }
  if (limits.multipleOf !== undefined) checkMultiple(limits.multipleOf, context)
  if (limits.minimum !== undefined) checkMinimum(limits.minimum, limits, context)
  if (limits.maximum !== undefined) checkMaximum(limits.maximum, limits, context)
}

function checkMultiple(factor: number, context: NumberContext): void {
  const { value, path, violations } = context
  const { limit, asInteger } = limitOf(factor, 'MultipleOf', context)
  if (limit <= 0) {
    const message = `factor MultipleOf declared for ${path} must be positive: ${formatFloat(limit)}`
    violations.worded(path, limit, message)
    return
  }
  const isMultiple = asInteger ? value % limit === 0 : isNearlyInteger(limit < 1 ? (1 / limit) * value : value / limit)
  if (!isMultiple) violations.valueFailed(path, value, `should be a multiple of ${formatFloat(limit)}`)
}

function checkMinimum(minimum: number, { exclusiveMinimum }: Limits, context: NumberContext): void {
  const { value, path, violations } = context
  const { limit } = limitOf(minimum, 'Minimum boundary', context)
  if (exclusiveMinimum ? value > limit : value >= limit) return
  const words = exclusiveMinimum ? 'greater than' : 'greater than or equal to'
  violations.valueFailed(path, value, `should be ${words} ${formatFloat(limit)}`)
}

function checkMaximum(maximum: number, { exclusiveMaximum }: Limits, context: NumberContext): void {
  const { value, path, violations } = context
  const { limit } = limitOf(maximum, 'Maximum boundary', context)
  if (exclusiveMaximum ? value < limit : value <= limit) return
  const words = exclusiveMaximum ? 'less than' : 'less than or equal to'
  violations.valueFailed(path, value, `should be ${words} ${formatFloat(limit)}`)
}

/** With a tolerance of 1e-9; false beyond the range of exact integers. */
export function isNearlyInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false
  const whole = Math.trunc(value)
  if (value === whole) return true
  return Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < 1e-9
}
