/**
 * Quantities such as `500m` or `1Gi`, parsed and formatted as apimachinery's resource.Quantity does. Used by the server for decoding and
 * validation, and by reconciling/ to compare values.
 */

type Format = 'decimal' | 'binary' | 'exponent'

export interface Quantity {
  /** In billionths, the smallest unit of a Quantity. */
  readonly nanos: bigint
  readonly format: Format
  /** The canonical form. */
  readonly text: string
}

const malformed = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const badSuffix = "unable to parse quantity's suffix"

const decimalSuffixes: ReadonlyArray<readonly [suffix: string, exponent: number]> = [
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const nano = 1_000_000_000n
/** The largest value of a binary quantity; larger values are reduced to it. */
const maximum = (2n ** 63n - 1n) * nano

/** Maximum length of a quantity: calculations with more digits would be slow. */
const maxDigits = 1000

/** Unambiguous, to avoid backtracking: each character can belong to one group only. */
const pattern = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/

/** The quantity, or Go's error message. */
export function parseQuantity(text: string): Quantity | string {
  const match = text.length > maxDigits ? null : pattern.exec(text)
  if (!match || text === '') return malformed
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  const scale = interpretSuffix(suffix)
  if (!scale) return badSuffix
  const digits = BigInt(`${whole}${fraction}` || '0')
  const size =
    scale.base === 2
      ? roundUp(digits * nano * 2n ** BigInt(scale.exponent), fraction.length)
      : scaleDecimal(digits, scale.exponent - fraction.length)
  const capped = scale.format === 'binary' && size > maximum ? maximum : size
  const format = scale.format === 'binary' && size > 0n && size < nano ? 'decimal' : scale.format
  const parsed = quantity(sign === '-' ? -capped : capped, format)
  return isKeptAsWritten(whole.replace(/^0+/, '') || '0', fraction, scale) ? { ...parsed, text } : parsed
}

interface Scale {
  readonly base: 2 | 10
  readonly exponent: number
  readonly format: Format
}

/** Go's parser keeps the original text if a quick check finds it canonical, and thus keeps a plus sign or a trailing point. */
function isKeptAsWritten(whole: string, fraction: string, { base, exponent }: Scale): boolean {
  const digits = whole + fraction
  if (base === 2) {
    const isSmall = 14 - whole.length - Math.floor(exponent * 0.3) >= 0
    return isSmall && fraction === '' && (BigInt(digits) & 7n) !== 0n
  }
  const scale = exponent - fraction.length
  return digits.length <= 18 && scale >= -9 && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')
}

function interpretSuffix(suffix: string): Scale | undefined {
  const binary = binarySuffixes.indexOf(suffix)
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'binary' }
  const decimal = decimalSuffixes.find(([name]) => name === suffix)
  if (decimal) return { base: 10, exponent: decimal[1], format: 'decimal' }
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(suffix)
  // Beyond these bounds a value is zero or too large. Go's limit is 32 bits.
  if (!exponent || Math.abs(Number(exponent[1])) > 1000) return undefined
  return { base: 10, exponent: Number(exponent[1]), format: 'exponent' }
}

/** Rounds up, as the API server does with fractions of a billionth. */
function roundUp(value: bigint, decimals: number): bigint {
  const divisor = 10n ** BigInt(decimals)
  return value % divisor === 0n ? value / divisor : value / divisor + 1n
}

function scaleDecimal(digits: bigint, exponent: number): bigint {
  return exponent >= -9 ? digits * 10n ** BigInt(exponent + 9) : roundUp(digits, -exponent - 9)
}

function quantity(nanos: bigint, format: Format): Quantity {
  return { nanos, format, text: formatNanos(nanos, format) }
}

function formatNanos(nanos: bigint, format: Format): string {
  if (nanos === 0n) return '0'
  const size = nanos < 0n ? -nanos : nanos
  const sign = nanos < 0n ? '-' : ''
  if (format === 'binary' && size >= 1024n * nano && size % nano === 0n) return sign + formatBinary(size / nano)
  let [mantissa, exponent] = [size, -9]
  while (mantissa % 1000n === 0n && (exponent < 18 || format === 'exponent'))
    [mantissa, exponent] = [mantissa / 1000n, exponent + 3]
  const suffix =
    format === 'exponent' ? (exponent === 0 ? '' : `e${exponent}`) : decimalSuffixes.find(([, e]) => e === exponent)![0]
  return `${sign}${mantissa}${suffix}`
}

function formatBinary(size: bigint): string {
  let [mantissa, power] = [size, 0]
  while (mantissa % 1024n === 0n && power < binarySuffixes.length - 1) [mantissa, power] = [mantissa / 1024n, power + 1]
  return `${mantissa}${binarySuffixes[power]}`
}

/** Rounds up to thousandths, as the API server does with resource amounts. */
export function roundToMilli(text: string): string {
  const parsed = parseQuantity(text)
  if (typeof parsed === 'string' || parsed.nanos % 1_000_000n === 0n) return text
  const step = parsed.nanos > 0n ? 1n : -1n
  return quantity((parsed.nanos / 1_000_000n + step) * 1_000_000n, parsed.format).text
}

/** The value of a quantity in billionths; 0 for anything else. */
export function nanosOf(text: unknown): bigint {
  const parsed = typeof text === 'string' ? parseQuantity(text) : malformed
  return typeof parsed === 'string' ? 0n : parsed.nanos
}
