/** Durations in options and settings, converted to milliseconds where they are used. */
import { KopfError } from '../../errors.ts'

/** A duration: a number of seconds, as in Kopf and Kubernetes, or a string with a unit: `'500ms'`, `'10s'`, `'5m'`, `'1h'`, `'30d'`. A day has 24 hours. */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Converts to milliseconds. `what` names the option in the error for an invalid duration. */
export function toMs(duration: Duration, what: string = 'a duration'): number {
  const ms = parseMs(duration)
  if (ms !== undefined) return ms
  throw new KopfError(
    'KOPF_DURATION',
    `Cannot use ${typeof duration === 'number' ? duration : JSON.stringify(duration)} as ${what}: expected a number of seconds that is not negative, or a string such as "500ms", "10s", "5m", "1h" or "30d"`,
  )
}

export function isDuration(value: unknown): value is Duration {
  return parseMs(value) !== undefined
}

function parseMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 ? value * 1000 : undefined
  if (typeof value !== 'string') return undefined
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? []
  return digits === undefined ? undefined : Number(digits) * unitMs[unit!]!
}
