/** Integers from texts of clients, whose length has no limit. */

/** More than the digits of any integer of 64 bits. */
const maxDigits = 40
const beyond = 10n ** BigInt(maxDigits)

/**
 * The integer of a text of decimal digits, with or without a sign. Texts with more significant digits than any integer of 64 bits become a number beyond
 * all of these: `BigInt` takes half a second for a million digits, and the caller is going to refuse the value.
 */
export function toBoundedBigInt(text: string): bigint {
  if (text.length <= maxDigits) return BigInt(text.startsWith('+') ? text.slice(1) : text)
  const isNegative = text.startsWith('-')
  const digits = text.replace(/^[+-]?0*/, '')
  const size = digits.length > maxDigits ? beyond : BigInt(digits === '' ? '0' : digits)
  return isNegative ? -size : size
}
