/** Moments as Kopf writes them on objects: `2020-01-01T00:00:00.000000+00:00`. */

/** The end of the year 9999: Python cannot read what is beyond. */
const lastMs = 253_402_300_799_000

/** Always with microseconds and an offset: Kopf fails to compare what has none. Takes fractions of milliseconds. */
export function formatTimestamp(ms: number): string {
  const clamped = Math.max(0, Math.min(ms, lastMs))
  // The seconds apart: all microseconds since 1970 would be too many digits for a double, far in the future.
  const micros = Math.round((clamped % 1000) * 1000)
  const whole = Math.floor(clamped / 1000) + Math.floor(micros / 1_000_000)
  const seconds = new Date(whole * 1000).toISOString().slice(0, 19)
  const fraction = String(micros % 1_000_000).padStart(6, '0')
  return `${seconds}.${fraction}+00:00`
}

const pattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?(Z|[+-]\d\d(?::?\d\d)?)?$/i

/**
 * Milliseconds since 1970, with a fraction where there are microseconds, so that writing it again gives the same text.
 * Older versions of Kopf wrote no offset and meant UTC. Undefined for what is no timestamp.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = pattern.exec(text.trim())
  if (match === null) return undefined
  const [, date, time, fraction = '', offset = 'Z'] = match
  const ms = Date.parse(`${date}T${time}Z`)
  // JavaScript takes the 30th of February for the 1st of March.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined
  const micros = Number(fraction.padEnd(6, '0').slice(0, 6))
  return (ms * 1000 + micros) / 1000 - offsetMs(offset)
}

function offsetMs(offset: string): number {
  if (offset.toUpperCase() === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', '') || 0)
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000
}
