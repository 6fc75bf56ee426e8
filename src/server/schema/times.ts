/** Dates, times and durations as Go's `time` package and kube-apiserver's formats accept them. */
import { toBoundedBigInt } from '../../util/text/bounded-integers.ts'

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/
const timePattern = /^([0-9]{2}):([0-9]{2}):([0-9]{2})([^\n][0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/u

export function isDate(text: string): boolean {
  const match = datePattern.exec(text)
  if (!match) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  if (month < 1 || month > 12 || day < 1) return false
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return day <= days[month - 1]!
}

export function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split('t')
  if (date === undefined || time === undefined || !isDate(date)) return false
  const match = timePattern.exec(time)
  return match !== null && match[1]! <= '23' && match[2]! <= '59' && match[3]! <= '59'
}

// Unambiguous, so that a long text without a unit does not cause exponential backtracking.
const goDuration = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/
const wordUnits = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i

/** In Go's form (`1h30m`), or in words, of which at least one unit must be known: `2 days`. */
export function isDuration(text: string): boolean {
  if (goDuration.test(text) && !isTooLarge(text)) return true
  let isKnown = false
  for (const [, number, unit] of text.matchAll(/(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g)) {
    if (toBoundedBigInt(number!) > maxInt64) return false
    isKnown ||= wordUnits.test(unit!)
  }
  return isKnown
}

const maxInt64 = 2n ** 63n - 1n

/** True if a number alone exceeds int64. A number that exceeds it only with its unit is read as words, which may overflow. */
function isTooLarge(text: string): boolean {
  if (text === '-9223372036854775808ns') return false
  return [...text.matchAll(/(?<![\d.])\d+/g)].some(([number]) => toBoundedBigInt(number) > maxInt64)
}
