/** Parses integers from clients, which may have any number of digits. Used by the server. */

/** More than the digits of any integer of 64 bits. */
const maxDigits = 40
const beyond = 10n ** BigInt(maxDigits)

/**
 * Parses decimal digits with an optional sign. A number with more than 40 significant digits becomes 10^40, which every caller
 * rejects as too large: `BigInt` takes half a second for a million digits.
 */
export function toBoundedBigInt(text: string): bigint {
  if (text.length <= maxDigits) return BigInt(text.startsWith('+') ? text.slice(1) : text)
  const isNegative = text.startsWith('-')
  const digits = text.replace(/^[+-]?0*/, '')
  const size = digits.length > maxDigits ? beyond : BigInt(digits === '' ? '0' : digits)
  return isNegative ? -size : size
}
