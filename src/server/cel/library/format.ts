/** `'%s of %d'.format([…])`, as in version 2 of cel-go's strings extension. */
import { fail, type Meter } from '../failures.ts'
import { CelDuration, CelList, CelMap, type CelValue, Timestamp, typeNameOf, Uint } from '../values.ts'
import { toText } from './conversions.ts'

const maxPrecision = 1000

export function formatText(text: string, args: readonly CelValue[], meter: Meter): string {
  let next = 0
  const pattern = /%%|%(?:\.(\d*))?([\s\S]?)|[^%]+/g
  const pieces = [...text.matchAll(pattern)].map(([piece, precision, clause]) => {
    const formatted = clause === undefined ? (piece === '%%' ? '%' : piece) : formatNext(precision, clause)
    meter.work(formatted.length / 20)
    return formatted
  })
  return pieces.join('')

  function formatNext(precision: string | undefined, clause: string): string {
    if (next >= args.length) return fail(`index ${next} out of range`)
    if (clause === '') {
      return precision === undefined
        ? fail('unexpected end of string')
        : unparsable('could not find end of precision specifier')
    }
    if (precision === '') {
      return unparsable('error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax')
    }
    const value = args[next]!
    next += 1
    return formatClause(clause, precision === undefined ? 6 : Number(precision), value, meter)
  }
}

function unparsable(problem: string): never {
  const inner = problem.startsWith('unrecognized') ? problem : `error while parsing precision: ${problem}`
  return fail(`could not parse formatting clause: ${inner}`)
}

const unfit = (problem: string, value: CelValue): never =>
  fail(`error during formatting: ${problem}, was given ${typeNameOf(value)}`)

function formatClause(clause: string, precision: number, value: CelValue, meter: Meter): string {
  switch (clause) {
    case 's':
      return formatAny(value, meter)
    case 'd':
      return isWhole(value) ? toText(value) : unfit('decimal clause can only be used on integers', value)
    case 'f':
      return formatFloat(doubleOf(value, 'fixed-point'), Math.min(precision, maxPrecision), false)
    case 'e':
      return formatFloat(doubleOf(value, 'scientific'), Math.min(precision, maxPrecision), true)
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0'
      return isWhole(value)
        ? numberOf(value).toString(2)
        : unfit('only integers and bools can be formatted as binary', value)
    case 'o':
      return isWhole(value) ? numberOf(value).toString(8) : unfit('octal clause can only be used on integers', value)
    case 'x':
      return formatHex(value)
    case 'X':
      return formatHex(value).toUpperCase()
    default:
      return unparsable(`unrecognized formatting clause "${clause}"`)
  }
}

const isWhole = (value: CelValue): value is bigint | Uint => typeof value === 'bigint' || value instanceof Uint
const numberOf = (value: bigint | Uint): bigint => (typeof value === 'bigint' ? value : value.value)

function doubleOf(value: CelValue, clause: string): number {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  return unfit(`${clause} clause can only be used on doubles`, value)
}

/** Formats for American English: thousands separators, and exponents as `×10⁰⁶`. */
function formatFloat(value: number, precision: number, isScientific: boolean): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞'
  const digits = Math.min(precision, 100)
  const more = '0'.repeat(precision - digits)
  if (!isScientific) return `${value.toFixed(digits).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ',')}${more}`
  const [mantissa, exponent] = value.toExponential(digits).split('e') as [string, string]
  const power = Math.abs(Number(exponent))
  return `${mantissa}×10${toSuperscript(`${exponent.startsWith('-') ? '-' : ''}${String(power).padStart(2, '0')}`)}`
}

function toSuperscript(digits: string): string {
  return digits.replace(/[-\d]/g, (digit) => (digit === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(digit)]!))
}

function formatHex(value: CelValue): string {
  if (isWhole(value)) return numberOf(value).toString(16)
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return unfit('only integers, byte buffers, and strings can be formatted as hex', value)
}

const kinds = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps'

function formatAny(value: CelValue, meter: Meter): string {
  if (value instanceof CelList) return formatList(value, meter)
  if (value instanceof CelMap) return formatMap(value, meter)
  if (value === null) return 'null'
  const name = typeNameOf(value)
  if (/^(?:string|int|uint|double|bool|bytes|type|google\.protobuf\..*)$/.test(name)) return toText(value)
  return unfit(`string clause can only be used on ${kinds}`, value)
}

function formatList(list: CelList, meter: Meter): string {
  return `[${list
    .toArray()
    .map((item) => formatInside(item, meter))
    .join(', ')}]`
}

function formatMap(map: CelMap, meter: Meter): string {
  const entries = map.keys().map((key): readonly [string, string] => {
    const isKey = ['string', 'bool', 'int', 'uint'].includes(typeNameOf(key))
    if (!isKey) return fail(`error during formatting: no formatting function for map key of type ${typeNameOf(key)}`)
    return [formatInside(key, meter), formatInside(map.find(key)!, meter)]
  })
  entries.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0))
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`
}

/** Values inside lists and maps are formatted as CEL literals. */
function formatInside(value: CelValue, meter: Meter): string {
  meter.work(typeof value === 'string' ? value.length / 10 + 2 : 2)
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Uint8Array) return `b${JSON.stringify(toText(value))}`
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(toText(value))})`
  if (value instanceof CelDuration) return `duration(${JSON.stringify(toText(value))})`
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value.toFixed(6)
    return Number.isNaN(value) ? '"NaN"' : `"${value > 0 ? '+' : '-'}Inf"`
  }
  if (value instanceof CelList) return formatList(value, meter)
  if (value instanceof CelMap) return formatMap(value, meter)
  const isKnown = value === null || /^(?:int|uint|bool|type)$/.test(typeNameOf(value))
  return isKnown
    ? value === null
      ? 'null'
      : toText(value)
    : fail(`error during formatting: no formatting function for ${typeNameOf(value)}`)
}
