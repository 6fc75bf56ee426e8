/** Parses and formats timestamps and durations like Go's `time` package. */
import { toBoundedBigInt } from '../../../util/text/bounded-integers.ts'
import { Timestamp } from '../values.ts'

const billion = 1_000_000_000n
const maxDuration = 2n ** 63n

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: billion,
  m: 60n * billion,
  h: 3600n * billion,
}

/** Parses `1h30m` or `-1.5s` to nanoseconds; undefined if the text is not a duration. */
export function parseGoDuration(text: string): bigint | undefined {
  const match = /^([-+]?)(?:0|((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+))$/.exec(text)
  if (!match) return undefined
  let nanos = 0n
  for (const [, whole, fraction, unit] of (match[2] ?? '').matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = units[unit!]!
    nanos += toBoundedBigInt(whole || '0') * scale
    if (fraction) nanos += (BigInt(fraction.slice(0, 18)) * scale) / 10n ** BigInt(Math.min(fraction.length, 18))
  }
  const isNegative = match[1] === '-'
  if (nanos > maxDuration || (nanos === maxDuration && !isNegative)) return undefined
  return isNegative ? -nanos : nanos
}

const words: ReadonlyArray<readonly [pattern: RegExp, nanos: bigint]> = [
  [/^(?:ns|nano.*)$/i, 1n],
  [/^(?:us|µs|micro.*)$/i, 1_000n],
  [/^(?:ms|milli.*)$/i, 1_000_000n],
  [/^(?:s|sec.*)$/i, billion],
  [/^(?:m|min.*)$/i, 60n * billion],
  [/^(?:h|hr|hour.*)$/i, 3600n * billion],
  [/^(?:d|day.*)$/i, 86_400n * billion],
  [/^(?:w|wk|week.*)$/i, 604_800n * billion],
]

/**
 * Parses `2 days`, which the format `duration` allows in addition to Go's syntax. Returns the sum of all known parts; it may
 * overflow.
 */
export function parseWordyDuration(text: string): bigint | undefined {
  let nanos: bigint | undefined
  for (const [, count, unit] of text.matchAll(/(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g)) {
    const scale = words.find(([pattern]) => pattern.test(unit!))?.[1]
    if (scale !== undefined) nanos = (nanos ?? 0n) + toBoundedBigInt(count!) * scale
  }
  return nanos === undefined ? undefined : BigInt.asIntN(64, nanos)
}

/** Formats a duration like `string(duration)`: `5400s`. */
export function formatSeconds(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos
  // Go computes this with a double, so the rounding must be the same.
  const seconds = Number(size / billion) + Number(size % billion) / 1e9
  const text = /e/.test(String(seconds)) ? seconds.toFixed(9).replace(/\.?0+$/, '') : String(seconds)
  return `${nanos < 0n ? '-' : ''}${text}s`
}

const timestampPattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/

export function parseRfc3339(text: string): Timestamp | undefined {
  const match = timestampPattern.exec(text)
  if (!match) return undefined
  const [year, month, day, hours, minutes, seconds] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (offsetHours > 24 || offsetMinutes > 60) return undefined
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60
  const whole = BigInt(date.getTime() / 1000 + hours * 3600 + minutes * 60 + seconds - offset)
  const fraction = BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0'))
  return new Timestamp(whole * billion + fraction, offset)
}

/** Formats a timestamp like `string(timestamp)`: in its original zone, without trailing zeros. */
export function formatTimestamp({ nanos, offset }: Timestamp): string {
  const local = nanos + BigInt(offset) * billion
  const fraction = ((local % billion) + billion) % billion
  const date = new Date(Number((local - fraction) / 1_000_000n))
  const digits = String(fraction).padStart(9, '0').replace(/0+$/, '')
  const size = Math.abs(offset)
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, '0')
  const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${two(size / 3600)}:${two((size % 3600) / 60)}`
  return `${date
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replace(/^\+0*/, '')}${digits === '' ? '' : `.${digits}`}${zone}`
}
