/** Go type names of decoded JSON, for messages about wrong types. */

/** The type as Go's `%T` prints it. */
export function goTypeOf(value: unknown): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  if (typeof value === 'bigint') return 'int64'
  return typeof value === 'boolean' ? 'bool' : 'string'
}
