/** Ages as in `kubectl get`, rounded to two or three figures like apimachinery's `duration.HumanDuration`. */

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** The larger unit, followed by the smaller one if it is not zero: `3m`, `3m5s`. */
function formatTwoUnits(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`
}

export function formatDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / second)
  // Clocks differ: a time up to two seconds in the future counts as now.
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(milliseconds / minute)
  if (minutes < 10) return formatTwoUnits(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(milliseconds / hour)
  if (hours < 8) return formatTwoUnits(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (days < 8) return formatTwoUnits(days, 'd', hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  const years = Math.trunc(days / 365)
  return years < 8 ? formatTwoUnits(years, 'y', days % 365, 'd') : `${years}y`
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds since the epoch; undefined for a time that Go rejects, such as February 30. */
export function parseTime(text: string): number | undefined {
  const match = rfc3339.exec(text)
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map(Number)
  const daysInMonth = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth) return undefined
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined
  const time = Date.parse(text.replace(',', '.'))
  return Number.isNaN(time) ? undefined : time
}

/** Go's zero time, which stands for none. */
const zeroTime = Date.parse('0001-01-01T00:00:00Z')

/** The time since the timestamp; `<unknown>` if there is none. */
export function formatAge(timestamp: unknown, now: Date): string {
  if (typeof timestamp !== 'string' || timestamp === '' || timestamp === 'null') return '<unknown>'
  const time = parseTime(timestamp)
  if (time === undefined) return '<invalid>'
  return time === zeroTime ? '<unknown>' : formatDuration(now.getTime() - time)
}
