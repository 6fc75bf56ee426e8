/** Accessors of timestamps (in UTC or a given zone) and of durations. */
import { fail } from '../failures.ts'
import { type Library, member, type Overload } from '../functions.ts'
import { durationType, intType, stringType, timestampType } from '../types.ts'
import type { CelDuration, Timestamp } from '../values.ts'

const million = 1_000_000n

/** A Date whose UTC fields are the local time of the zone. */
function localDate({ nanos }: Timestamp, zone: string | undefined): Date {
  const remainder = ((nanos % million) + million) % million
  const time = Number((nanos - remainder) / million)
  return new Date(time + (zone === undefined ? 0 : offsetMilliseconds(zone, time)))
}

/** Takes an offset such as `-07:00`, or a name of the IANA time zone database. */
function offsetMilliseconds(zone: string, time: number): number {
  const colon = zone.indexOf(':')
  if (colon < 0) return namedOffset(zone, time)
  const [hours, minutes] = [zone.slice(0, colon), zone.slice(colon + 1)]
  for (const part of [hours, minutes]) {
    if (!/^[+-]?\d+$/.test(part)) return fail(`strconv.Atoi: parsing ${JSON.stringify(part)}: invalid syntax`)
  }
  const sign = hours.startsWith('-') ? -1 : 1
  return (Number(hours) * 60 + sign * Number(minutes)) * 60_000
}

function namedOffset(zone: string, time: number): number {
  if (zone === '' || zone === 'UTC') return 0
  const formatter = formatterOf(zone) ?? fail(`unknown time zone ${zone}`)
  const parts = new Map(formatter.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0
  const local = new Date(0)
  local.setUTCFullYear(part('year'), part('month') - 1, part('day'))
  local.setUTCHours(part('hour'), part('minute'), part('second'))
  return local.getTime() - Math.floor(time / 1000) * 1000
}

/** Cached, since formatters are expensive to create and rules use the same zones repeatedly. */
const formatters = new Map<string, Intl.DateTimeFormat>()
const maxFormatters = 100
/** Work units of splitting a time into its fields, in list elements. */
const zoneWork = 60

function formatterOf(zone: string): Intl.DateTimeFormat | undefined {
  const known = formatters.get(zone) ?? createFormatter(zone)
  if (known && formatters.size < maxFormatters) formatters.set(zone, known)
  return known
}

function createFormatter(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return undefined
  }
}

type DatePart = (date: Date) => number

function ofTimestamp(id: string, part: DatePart): Overload[] {
  const read = (value: Timestamp, zone?: string): bigint => BigInt(part(localDate(value, zone)))
  return [
    member(`timestamp_to_${id}`, [timestampType], intType, ([value]) => read(value as Timestamp)),
    member(`timestamp_to_${id}_with_tz`, [timestampType, stringType], intType, ([value, zone], meter) => {
      meter.work(zoneWork)
      return read(value as Timestamp, zone as string)
    }),
  ]
}

const ofDuration = (id: string, nanos: bigint): Overload =>
  member(`duration_to_${id}`, [durationType], intType, ([value]) => (value as CelDuration).nanos / nanos)

function dayOfYear(date: Date): number {
  const start = new Date(date)
  start.setUTCMonth(0, 1)
  return Math.round((date.getTime() - start.getTime()) / 86_400_000)
}

export const times: Library = {
  getFullYear: ofTimestamp('year', (date) => date.getUTCFullYear()),
  getMonth: ofTimestamp('month', (date) => date.getUTCMonth()),
  getDayOfYear: ofTimestamp('day_of_year', dayOfYear),
  getDayOfMonth: ofTimestamp('day_of_month', (date) => date.getUTCDate() - 1),
  getDate: ofTimestamp('day_of_month_1_based', (date) => date.getUTCDate()),
  getDayOfWeek: ofTimestamp('day_of_week', (date) => date.getUTCDay()),
  getHours: [...ofTimestamp('hours', (date) => date.getUTCHours()), ofDuration('hours', 3_600_000_000_000n)],
  getMinutes: [...ofTimestamp('minutes', (date) => date.getUTCMinutes()), ofDuration('minutes', 60_000_000_000n)],
  getSeconds: [...ofTimestamp('seconds', (date) => date.getUTCSeconds()), ofDuration('seconds', 1_000_000_000n)],
  getMilliseconds: [
    ...ofTimestamp('milliseconds', (date) => date.getUTCMilliseconds()),
    ofDuration('milliseconds', 1_000_000n),
  ],
}
