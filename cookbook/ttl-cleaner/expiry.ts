/** Decides when an object expires. Pure functions: no clock, no requests. */

const ttlAnnotation = 'example.com/ttl'
const expiresAtAnnotation = 'example.com/expires-at'

/** `keep`: the object has no valid time of expiry, and the reason says why. */
export type Expiry =
  | { readonly type: 'at'; readonly timeMs: number }
  | { readonly type: 'keep'; readonly reason: 'NoTTL' | 'InvalidTTL'; readonly message: string }

type Annotations = Readonly<Record<string, string | undefined>>

export function hasTtl(annotations: Annotations): boolean {
  return annotations[ttlAnnotation] !== undefined || annotations[expiresAtAnnotation] !== undefined
}

/** A time to live counts from the creation of the object. */
export function expiryOf(annotations: Annotations, createdAt: string | undefined): Expiry {
  const { [ttlAnnotation]: ttl, [expiresAtAnnotation]: expiresAt } = annotations
  if (ttl !== undefined && expiresAt !== undefined) {
    return invalid(`The object has both ${ttlAnnotation} and ${expiresAtAnnotation}: remove one of them`)
  }
  if (expiresAt !== undefined) {
    const timeMs = parseTime(expiresAt)
    if (timeMs !== undefined) return { type: 'at', timeMs }
    return invalid(`${expiresAtAnnotation} is ${quote(expiresAt)}: write a time such as "2030-01-31T18:00:00Z"`)
  }
  if (ttl === undefined) return { type: 'keep', reason: 'NoTTL', message: 'The object has no time to live' }
  const lifetimeMs = parseTtl(ttl)
  const createdMs = Date.parse(createdAt ?? '')
  if (lifetimeMs === undefined) {
    return invalid(
      `${ttlAnnotation} is ${quote(ttl)}: write a duration up to 10 years, such as "90s", "24h", "1h30m" or "7d"`,
    )
  }
  if (Number.isNaN(createdMs)) return invalid('The object has no time of creation')
  return { type: 'at', timeMs: createdMs + lifetimeMs }
}

function invalid(message: string): Expiry {
  return { type: 'keep', reason: 'InvalidTTL', message }
}

/** An annotation can have 256 KiB: too much for a log line and for an Event. */
function quote(text: string): string {
  return text.length <= 60 ? `"${text}"` : `"${text.slice(0, 60)}…"`
}

const unitsMs = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const
const maxTtlMs = 3650 * unitsMs.d

/** Units come in descending order, each at most once: "1h30m", but neither "30m1h" nor "5". */
export function parseTtl(text: string): number | undefined {
  const match = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text)
  if (match === null) return undefined
  const [, ...counts] = match
  const totalMs = Object.values(unitsMs).reduce((sum, unitMs, index) => sum + Number(counts[index] ?? 0) * unitMs, 0)
  return totalMs > 0 && totalMs <= maxTtlMs ? totalMs : undefined
}

/** RFC 3339 with a time zone. `Date.parse` alone would accept much more, and take a time without a zone for local time. */
function parseTime(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return undefined
  const timeMs = Date.parse(text)
  return Number.isNaN(timeMs) ? undefined : timeMs
}
