/**
 * Quantities such as `500m` or `1Gi`: parsed as apimachinery's resource.Quantity does, and written back in its canonical
 * form. Decoding uses the parser, validation the comparisons.
 */

type Format = 'decimal' | 'binary' | 'exponent'

export interface Quantity {
  /** In billionths: nothing smaller is kept. */
  readonly nanos: bigint
  readonly format: Format
  /** How the API writes it. */
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
/** The largest value a binary quantity can have; more is cut down to it. */
const maximum = (2n ** 63n - 1n) * nano

/** Nothing that is measured has so many digits, and calculating with them takes its time. */
const mostDigits = 1000

/** One way to read each text: where a digit could belong to two parts, a long text would be read in as many ways. */
const pattern = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?|[-+])[0-9]*)?$/

/** The quantity, or the reason why it is none. */
export function parseQuantity(text: string): Quantity | string {
  const match = text.length > mostDigits ? null : pattern.exec(text)
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

/** The real parser keeps the text of what seems canonical at first sight, and so keeps a plus or a trailing point. */
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
  // Past these bounds everything is either nothing or too large; Go's parser stops at 32 bits, this one sooner.
  if (!exponent || Math.abs(Number(exponent[1])) > 1000) return undefined
  return { base: 10, exponent: Number(exponent[1]), format: 'exponent' }
}

/** Rounds away from zero, as the API does with what is smaller than a billionth. */
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

/** What the API does to amounts of resources: nothing finer than a thousandth is kept. */
export function roundToMilli(text: string): string {
  const parsed = parseQuantity(text)
  if (typeof parsed === 'string' || parsed.nanos % 1_000_000n === 0n) return text
  const step = parsed.nanos > 0n ? 1n : -1n
  return quantity((parsed.nanos / 1_000_000n + step) * 1_000_000n, parsed.format).text
}

/** The size of a canonical quantity, zero where there is none. */
export function nanosOf(text: unknown): bigint {
  const parsed = typeof text === 'string' ? parseQuantity(text) : malformed
  return typeof parsed === 'string' ? 0n : parsed.nanos
}
