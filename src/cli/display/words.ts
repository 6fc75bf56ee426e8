/** Numbers, durations and long texts as people read them. Pure. */

/** With commas between the thousands: `1,204`. By hand: the platform's formats take seven megabytes of memory. */
export function toNumber(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 object`, `1,204 objects` */
export function toCount(count: number, one: string): string {
  return `${toNumber(count)} ${count === 1 ? one : `${one}s`}`
}

/** Two units at most: `0.4 s`, `12 s`, `2 min 5 s`, `1 h 5 min`. */
export function toDuration(ms: number): string {
  if (ms < 9950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return join(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  return join(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** At most so wide, and then it shows that something is missing. */
export function cutTo(width: number, text: string): string {
  const characters = [...text]
  if (characters.length <= width) return text
  return width < 1 ? '' : `${characters.slice(0, width - 1).join('')}…`
}
