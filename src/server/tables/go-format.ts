/** Formats values like Go's `fmt.Fprint`: used in string columns for values that are not strings. */
import { goJson } from '../../util/json/go-json.ts'
import type { Json } from '../../util/json/json.ts'

export function formatGoValue(value: Json): string {
  // Go templates print this for nil.
  if (value === null) return '<no value>'
  if (typeof value === 'object') return goJson(value)
  return typeof value === 'number' ? formatNumber(value) : String(value)
}

/** Whole numbers in full; fractions like `%v`, in scientific notation from a million on. */
function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString()
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}
