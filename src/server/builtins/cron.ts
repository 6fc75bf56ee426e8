/** Validates cron schedules with the error messages of robfig/cron v3, the real server's parser. */

interface Bounds {
  readonly low: number
  readonly high: number
  readonly names?: readonly string[]
}

const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const fieldBounds: readonly Bounds[] = [
  { low: 0, high: 59 },
  { low: 0, high: 23 },
  { low: 1, high: 31 },
  { low: 1, high: 12, names: months },
  { low: 0, high: 6, names: days },
]
const descriptors = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/** Internal; `scheduleProblem` returns its message. */
class CronError extends Error {}

/** Undefined for a valid schedule. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    parseSchedule(schedule.replace(/^(?:CRON_)?TZ=\S* */, ''))
    return undefined
  } catch (error) {
    if (error instanceof CronError) return error.message
    throw error
  }
}

function parseSchedule(schedule: string): void {
  if (schedule.startsWith('@')) {
    parseDescriptor(schedule)
    return
  }
  const fields = schedule.split(/\s+/).filter((field) => field !== '')
  if (fields.length !== 5)
    throw new CronError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`)
  for (const [index, field] of fields.entries()) {
    for (const range of field.split(',')) if (range !== '') parseRange(range, fieldBounds[index]!)
  }
}

function parseDescriptor(descriptor: string): void {
  if (descriptors.includes(descriptor)) return
  const duration = /^@every (.*)$/.exec(descriptor)?.[1]
  if (duration === undefined) throw new CronError(`unrecognized descriptor: ${descriptor}`)
  if (/^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/.test(duration)) return
  throw new CronError(`failed to parse duration ${descriptor}: time: invalid duration ${JSON.stringify(duration)}`)
}

function parseRange(range: string, bounds: Bounds): void {
  const [span = '', step, ...moreSteps] = range.split('/')
  const [first = '', last, ...moreEnds] = span.split('-')
  const isStar = first === '*' || first === '?'
  const start = isStar ? bounds.low : parseNumber(first, bounds.names)
  if (!isStar && moreEnds.length > 0) throw new CronError(`too many hyphens: ${range}`)
  let end = isStar ? bounds.high : last === undefined ? start : parseNumber(last, bounds.names)
  if (moreSteps.length > 0) throw new CronError(`too many slashes: ${range}`)
  const size = step === undefined ? 1 : parseNumber(step)
  // A single number with a step (`5/10`) extends to the upper bound.
  if (step !== undefined && last === undefined) end = bounds.high
  if (start < bounds.low) throw new CronError(`beginning of range (${start}) below minimum (${bounds.low}): ${range}`)
  if (end > bounds.high) throw new CronError(`end of range (${end}) above maximum (${bounds.high}): ${range}`)
  if (start > end) throw new CronError(`beginning of range (${start}) beyond end of range (${end}): ${range}`)
  if (size === 0) throw new CronError(`step of range should be a positive number: ${range}`)
}

function parseNumber(text: string, names: readonly string[] = []): number {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase())
  if (named >= 0) return named
  if (/^[+-]?\d+$/.test(text)) {
    if (Number(text) < 0) throw new CronError(`negative number (${Number(text)}) not allowed: ${text}`)
    return Number(text)
  }
  throw new CronError(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
}
