/** The schema types of JSON values. */
import type { Json } from '../../kube/objects.ts'

/** The types of a schema, as kube-apiserver determines them from decoded JSON: a whole number is an integer, however it was written. */
export type ValueType = 'null' | 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object'

const maxInt64 = 2 ** 63

export function typeOf(value: Json): ValueType {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < maxInt64 ? 'integer' : 'number'
  if (typeof value === 'boolean') return 'boolean'
  // Integers that a double cannot hold; see server/json-text.ts.
  if (typeof value === 'bigint') return 'integer'
  if (value === null || value === undefined) return 'null'
  return Array.isArray(value) ? 'array' : 'object'
}

/** The largest double that fits into int64. */
const maxDouble = maxInt64 - 1024

/** For limits: the nearest double within int64 for an integer that a double cannot hold. */
export function toDouble(value: unknown): number {
  return typeof value === 'bigint' ? Math.max(-maxDouble, Math.min(maxDouble, Number(value))) : (value as number)
}
