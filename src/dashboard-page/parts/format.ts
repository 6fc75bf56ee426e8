/** Numbers, durations and sizes as short texts. Pure. */

/** `4.2 ms`, `350 ms`, `4.2 s`, `3 min`, `2 h 5 min`, `3 d 4 h` */
export function formatDuration(ms: number): string {
  const value = Math.abs(ms)
  if (value < 1) return `${Math.round(value * 100) / 100} ms`
  if (value < 10) return `${Math.round(value * 10) / 10} ms`
  if (value < 1000) return `${Math.round(value)} ms`
  if (value < 10_000) return `${Math.round(value / 100) / 10} s`
  if (value < 60_000) return `${Math.round(value / 1000)} s`
  return formatMinutes(Math.floor(value / 60_000))
}

function formatMinutes(minutes: number): string {
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return join(hours, 'h', minutes % 60, 'min')
  return join(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}

/** `now`, `12 s ago`, `in 2 min`. Whole units, since it is shown for a moving time. */
export function formatDistance(atMs: number, nowMs: number): string {
  const distance = nowMs - atMs
  const value = Math.abs(distance)
  if (value < 1000) return 'now'
  const text = value < 60_000 ? `${Math.floor(value / 1000)} s` : formatMinutes(Math.floor(value / 60_000))
  return distance > 0 ? `${text} ago` : `in ${text}`
}

/** The time of day, with milliseconds; the date is added by the caller if it is another one. */
export function formatTime(atMs: number): string {
  const date = new Date(atMs)
  const pad = (value: number, length = 2) => String(value).padStart(length, '0')
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => pad(part)).join(':')
  return `${time}.${pad(date.getMilliseconds(), 3)}`
}

export function formatDate(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** `0`, `0.25`, `3.4`, `120`, `12,400` */
export function formatRate(value: number): string {
  if (value === 0) return '0'
  if (value < 1) return String(Math.round(value * 100) / 100)
  if (value < 100) return String(Math.round(value * 10) / 10)
  return formatCount(Math.round(value))
}

export function formatCount(value: number): string {
  return value.toLocaleString('en-US')
}

/** `3 objects`, `1 object` */
export function countOf(value: number, one: string, many: string = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`
}

export function formatBytes(bytes: number): string {
  const mebibytes = bytes / 1024 / 1024
  return mebibytes >= 1024 ? `${(mebibytes / 1024).toFixed(1)} GiB` : `${Math.round(mebibytes)} MiB`
}

/** `databases.v1.example.com` as `databases` and `example.com/v1`; the core group has no name. */
export function splitResource(resource: string): { readonly plural: string; readonly group: string } {
  const [plural = '', version = '', ...group] = resource.split('.')
  return { plural, group: group.length === 0 ? version : `${group.join('.')}/${version}` }
}
