/** Type conversions such as `int('5')` and `string(duration)`, and types as values. */
import { toBoundedBigInt } from '../../../util/text/bounded-integers.ts'
import { fail } from '../failures.ts'
import { global, type Implementation, type Library } from '../functions.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  opaque,
  param,
  stringType,
  timestampType,
  typeOfType,
  uintType,
} from '../types.ts'
import { CelDuration, type CelValue, Timestamp, TypeValue, typeNameOf, Uint } from '../values.ts'
import { formatDouble } from './go-numbers.ts'
import { formatSeconds, formatTimestamp, parseGoDuration, parseRfc3339 } from './go-times.ts'
import { maxInt, maxUint, minInt, timestamp } from './operators.ts'

const a = param('A')
const cannot = (value: CelValue, to: string): never =>
  fail(`type conversion error from '${typeNameOf(value)}' to '${to}'`)
const same: Implementation = ([value]) => value!
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const truths: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const falsehoods: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

function toBool(value: CelValue): boolean {
  if (truths.has(value as string)) return true
  return falsehoods.has(value as string) ? false : cannot(value, 'bool')
}

/** Truncates to an integer; out-of-range values are errors. */
function wholeNumber(value: number, low: bigint, high: bigint, problem: string): bigint {
  if (!Number.isFinite(value)) return fail(problem)
  const whole = BigInt(Math.trunc(value))
  return whole <= low - 1n || whole > high || Number(whole) >= Number(high) ? fail(problem) : whole
}

function toInt(value: CelValue): bigint {
  if (typeof value === 'number') {
    // The limits of int64 are not exact doubles; cel-go rejects the doubles next to them.
    return value <= -(2 ** 63) || value >= 2 ** 63
      ? fail('integer overflow')
      : wholeNumber(value, minInt, maxInt, 'integer overflow')
  }
  if (value instanceof Uint) return value.value > maxInt ? fail('integer overflow') : value.value
  if (value instanceof Timestamp) return floorSeconds(value.nanos)
  if (value instanceof CelDuration) return value.nanos
  const number = /^[+-]?[0-9]+$/.test(value as string) ? toBoundedBigInt(value as string) : undefined
  return number === undefined || number < minInt || number > maxInt ? cannot(value, 'int') : number
}

function floorSeconds(nanos: bigint): bigint {
  const seconds = nanos / 1_000_000_000n
  return nanos < 0n && seconds * 1_000_000_000n !== nanos ? seconds - 1n : seconds
}

function toUint(value: CelValue): Uint {
  if (typeof value === 'number') {
    if (value < 0) return fail('unsigned integer overflow')
    return new Uint(wholeNumber(value, 0n, maxUint, 'unsigned integer overflow'))
  }
  if (typeof value === 'bigint') return value < 0n ? fail('unsigned integer overflow') : new Uint(value)
  const number = /^[0-9]+$/.test(value as string) ? toBoundedBigInt(value as string) : undefined
  return number === undefined || number > maxUint ? cannot(value, 'uint') : new Uint(number)
}

const decimalNumber = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/

function toDouble(value: CelValue): number {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Uint) return Number(value.value)
  const text = value as string
  if (decimalNumber.test(text)) {
    const number = Number(text)
    return Number.isFinite(number) ? number : cannot(value, 'double')
  }
  const special = /^([+-]?)(inf(?:inity)?|nan)$/i.exec(text)
  if (!special) return cannot(value, 'double')
  if (/^nan$/i.test(special[2]!)) return special[1] === '' ? Number.NaN : cannot(value, 'double')
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

export function toText(value: CelValue): string {
  if (typeof value === 'string') return value
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return formatDouble(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof CelDuration) return formatSeconds(value.nanos)
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof TypeValue) return value.name
  if (!(value instanceof Uint8Array)) return cannot(value, 'string')
  try {
    return decoder.decode(value)
  } catch {
    return fail('invalid UTF-8 in bytes, cannot convert to string')
  }
}

const convert = (name: string, from: string, type: CelType, to: CelType, run: (value: CelValue) => CelValue) =>
  global(`${from}_to_${name}`, [type], to, ([value]) => run(value!))
const text = (from: string, type: CelType) => convert('string', from, type, stringType, toText)

export const conversions: Library = {
  type: [global('type', [a], typeOfType(a), ([value]) => new TypeValue(typeNameOf(value!)))],
  dyn: [global('to_dyn', [a], dynType, same)],
  bool: [global('bool_to_bool', [boolType], boolType, same), convert('bool', 'string', stringType, boolType, toBool)],
  bytes: [
    global('bytes_to_bytes', [bytesType], bytesType, same),
    global('string_to_bytes', [stringType], bytesType, ([value], meter) => {
      meter.work((value as string).length / 20)
      return new TextEncoder().encode(value as string)
    }),
  ],
  double: [
    global('double_to_double', [doubleType], doubleType, same),
    convert('double', 'int64', intType, doubleType, toDouble),
    convert('double', 'string', stringType, doubleType, toDouble),
    convert('double', 'uint64', uintType, doubleType, toDouble),
  ],
  duration: [
    global('duration_to_duration', [durationType], durationType, same),
    convert('duration', 'int64', intType, durationType, (value) => cannot(value, 'google.protobuf.Duration')),
    convert('duration', 'string', stringType, durationType, (value) => {
      const nanos = parseGoDuration(value as string)
      return nanos === undefined ? cannot(value, 'google.protobuf.Duration') : new CelDuration(nanos)
    }),
  ],
  int: [
    global('int64_to_int64', [intType], intType, same),
    convert('int64', 'double', doubleType, intType, toInt),
    convert('int64', 'duration', durationType, intType, toInt),
    convert('int64', 'string', stringType, intType, toInt),
    convert('int64', 'timestamp', timestampType, intType, toInt),
    convert('int64', 'uint64', uintType, intType, toInt),
  ],
  string: [
    global('string_to_string', [stringType], stringType, same),
    text('bool', boolType),
    text('bytes', bytesType),
    text('double', doubleType),
    text('duration', durationType),
    text('int64', intType),
    text('timestamp', timestampType),
    text('uint64', uintType),
  ],
  timestamp: [
    global('timestamp_to_timestamp', [timestampType], timestampType, same),
    convert('timestamp', 'int64', intType, timestampType, (value) => timestamp((value as bigint) * 1_000_000_000n)),
    convert('timestamp', 'string', stringType, timestampType, (value) => {
      return parseRfc3339(value as string) ?? cannot(value, 'google.protobuf.Timestamp')
    }),
  ],
  uint: [
    global('uint64_to_uint64', [uintType], uintType, same),
    convert('uint64', 'double', doubleType, uintType, toUint),
    convert('uint64', 'int64', intType, uintType, toUint),
    convert('uint64', 'string', stringType, uintType, toUint),
  ],
}

const typeTypes: ReadonlyArray<readonly [name: string, type: CelType]> = [
  ['bool', boolType],
  ['bytes', bytesType],
  ['double', doubleType],
  ['google.protobuf.Duration', durationType],
  ['int', intType],
  ['list', listOf(dynType)],
  ['map', mapOf(dynType, dynType)],
  ['null_type', nullType],
  ['string', stringType],
  ['google.protobuf.Timestamp', timestampType],
  ['type', opaque('type')],
  ['uint', uintType],
  ['optional_type', opaque('optional_type', dynType)],
  ['net.IP', opaque('net.IP')],
  ['net.CIDR', opaque('net.CIDR')],
]

/** Identifiers that denote types, as in `type(x) == string`. */
export const typeNames: ReadonlyMap<string, CelType> = new Map(
  typeTypes.map(([name, type]) => [name, typeOfType(type)]),
)
