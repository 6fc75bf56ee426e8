/** Timestamps in Kopf's format, as stored on objects: `2020-01-01T00:00:00.000000+00:00`. */

/** The end of the year 9999, the last date of Python's `datetime`. */
const lastMs = 253_402_300_799_000

/** Always with microseconds and an offset: Kopf cannot compare timestamps without an offset. Accepts fractions of milliseconds. */
export function formatTimestamp(ms: number): string {
  const clamped = Math.max(0, Math.min(ms, lastMs))
  // Seconds and microseconds separately: microseconds since 1970 of a far date exceed the precision of a double.
  const micros = Math.round((clamped % 1000) * 1000)
  const whole = Math.floor(clamped / 1000) + Math.floor(micros / 1_000_000)
  const seconds = new Date(whole * 1000).toISOString().slice(0, 19)
  const fraction = String(micros % 1_000_000).padStart(6, '0')
  return `${seconds}.${fraction}+00:00`
}

const pattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i

/**
 * Milliseconds since 1970, with microseconds as a fraction, so that formatting gives the same text. Without an offset, as written by
 * older versions of Kopf, the time is UTC. Undefined for other texts.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = pattern.exec(text.trim())
  if (match === null) return undefined
  const [, date, time, fraction = '', offset = 'Z'] = match
  const ms = Date.parse(`${date}T${time}Z`)
  // `Date.parse` accepts February 30 as March 1.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined
  const micros = Number(fraction.padEnd(6, '0').slice(0, 6))
  return (ms * 1000 + micros) / 1000 - offsetMs(offset)
}

function offsetMs(offset: string): number {
  if (offset.toUpperCase() === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', '') || 0)
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000
}
