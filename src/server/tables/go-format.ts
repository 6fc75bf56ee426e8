/**
 * Values printed as Go prints them (`fmt.Fprint`): what a string column shows of a value that is no string.
 */
import { goJson } from '../../util/go-json.ts'
import type { Json } from '../../util/json.ts'

export function formatGoValue(value: Json): string {
  // The words are those of Go's templates, for a value that is nothing.
  if (value === null) return '<no value>'
  if (typeof value === 'object') return goJson(value)
  return typeof value === 'number' ? formatNumber(value) : String(value)
}

/** Whole numbers in full; fractions as `%v` has them, in scientific notation from a million on. */
function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString()
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
