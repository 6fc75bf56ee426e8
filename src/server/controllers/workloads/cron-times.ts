/** Computes the times of a valid cron expression or `@every` schedule in a time zone. Pure. */

const minuteMs = 60_000
const dayMs = 86_400_000
const farAwayMs = 5 * 366 * dayMs

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const names = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const days = 'sun mon tue wed thu fri sat'.split(' ')

/** The first scheduled time after this one; undefined if there is none for years. */
export type NextTime = (afterMs: number) => number | undefined

export function parseCron(schedule: string, timeZone: string = 'UTC'): NextTime {
  const [, zone, rest = schedule] = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/s.exec(schedule) ?? []
  const every = /^@every (.*)$/.exec(rest)?.[1]
  if (every !== undefined) return (afterMs) => Math.floor((afterMs + goDurationMs(every)) / 1000) * 1000
  return nextByFields(macros[rest] ?? rest, zone ?? timeZone)
}

function nextByFields(expression: string, timeZone: string): NextTime {
  const [minutes = '', hours = '', monthDays = '', months = '', weekDays = ''] = expression.trim().split(/\s+/)
  const minute = parseField(minutes, 0, 59)
  const hour = parseField(hours, 0, 23)
  const monthDay = parseField(monthDays, 1, 31)
  const month = parseField(months, 1, 12, names, 1)
  const weekDay = parseField(weekDays, 0, 6, days)
  const isFree = (field: string) => /^[*?]/.test(field)
  const isDay = (wall: Date): boolean => {
    const [byMonth, byWeek] = [monthDay.has(wall.getUTCDate()), weekDay.has(wall.getUTCDay())]
    // If both day fields are restricted, a match of either is enough.
    return isFree(monthDays) || isFree(weekDays) ? byMonth && byWeek : byMonth || byWeek
  }
  return (afterMs) => {
    let wallMs = Math.floor(afterMs / minuteMs + 1) * minuteMs + offsetAt(afterMs, timeZone)
    for (const endMs = wallMs + farAwayMs; wallMs < endMs; ) {
      const wall = new Date(wallMs)
      if (!month.has(wall.getUTCMonth() + 1) || !isDay(wall)) wallMs = (Math.floor(wallMs / dayMs) + 1) * dayMs
      else if (!hour.has(wall.getUTCHours())) wallMs = (Math.floor(wallMs / (60 * minuteMs)) + 1) * 60 * minuteMs
      else if (!minute.has(wall.getUTCMinutes())) wallMs += minuteMs
      else {
        const atMs = wallMs - offsetAt(wallMs - offsetAt(wallMs, timeZone), timeZone)
        if (atMs > afterMs) return atMs
        wallMs += minuteMs
      }
    }
    return undefined
  }
}

function parseField(field: string, low: number, high: number, words: readonly string[] = [], first = 0): Set<number> {
  const toNumber = (text: string): number => {
    const named = words.indexOf(text.toLowerCase())
    return named >= 0 ? named + first : Number(text)
  }
  const numbers = new Set<number>()
  for (const range of field.split(',').filter((part) => part !== '')) {
    const [span = '', step] = range.split('/')
    const [from = '', to] = span.split('-')
    const isAll = from === '*' || from === '?'
    const start = isAll ? low : toNumber(from)
    const end = isAll || (step !== undefined && to === undefined) ? high : toNumber(to ?? from)
    for (let number = start; number <= end; number += Number(step ?? 1)) numbers.add(number)
  }
  return numbers
}

/** Offset of a time zone from UTC at a given time. */
function offsetAt(ms: number, timeZone: string): number {
  if (timeZone === 'UTC' || timeZone === 'Etc/UTC') return 0
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms)
  const get = (type: string) => Number(parts.find((part) => part.type === type)!.value)
  const wallMs = Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'))
  return wallMs - Math.floor(ms / 1000) * 1000
}

const goUnitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** At least one second, as in robfig/cron. */
function goDurationMs(text: string): number {
  let ms = 0
  for (const [, digits, unit] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) ms += Number(digits) * goUnitsMs[unit!]!
  return Math.max(1000, ms)
}
