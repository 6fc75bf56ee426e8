/**
 * Patterns and formats of strings that mean the same to Kubernetes as to JavaScript. A definition with a pattern that Go
 * does not understand is refused as a whole, so those are left out. Called by structural.ts only.
 */

/** Look-around, back-references, code points, sets of nothing, and classes that RE2 does not have. */
const unknownToGo = /\(\?(?:[=!]|<[=!])|\\(?:[1-9ukcX]|[pP]\{[^}]*[=_][^}]*\})|\[\^?\]/

/** Go's own limit for repetitions. */
const maxRepeats = 1000

export function toKubernetesString(schema: Record<string, unknown>): Record<string, unknown> {
  const { pattern, format, ...rest } = schema
  // JSON Schema means ISO 8601 (`P1D`) by it, Kubernetes means Go's (`24h`) and refuses the others.
  const hasFormat = typeof format === 'string' && format !== 'duration'
  const hasPattern = typeof pattern === 'string' && isKnownToGo(pattern)
  return {
    ...rest,
    ...(hasFormat ? { format } : {}),
    ...(hasPattern ? { pattern } : {}),
    ...(pattern === undefined || hasPattern ? {} : { description: 'Its pattern is not checked by the API server.' }),
  }
}

function isKnownToGo(pattern: string): boolean {
  if (unknownToGo.test(pattern)) return false
  return [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].every(
    ([, from, to]) => Number(from) <= maxRepeats && Number(to ?? 0) <= maxRepeats,
  )
}
