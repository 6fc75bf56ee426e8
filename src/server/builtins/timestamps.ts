/**
 * Parses timestamps like Go's time.Parse and writes them like the API: in UTC, with whole seconds in most fields and
 * microseconds in those of leases and events. Error messages are Go's, since the API returns them to clients.
 */

const rfc3339 = '2006-01-02T15:04:05Z07:00'
const rfc3339Micro = '2006-01-02T15:04:05.000000Z07:00'

interface LayoutPart {
  readonly pattern: RegExp
  /** Name of this part in Go's layout. */
  readonly layout: string
  readonly range?: readonly [name: string, low: number, high: number]
}

const layoutParts: readonly LayoutPart[] = [
  { pattern: /^\d{4}/, layout: '2006' },
  { pattern: /^-/, layout: '-' },
  { pattern: /^\d{2}/, layout: '01', range: ['month', 1, 12] },
  { pattern: /^-/, layout: '-' },
  { pattern: /^\d{2}/, layout: '02', range: ['day', 1, 31] },
  { pattern: /^T/, layout: 'T' },
  { pattern: /^\d{2}/, layout: '15', range: ['hour', 0, 23] },
  { pattern: /^:/, layout: ':' },
  { pattern: /^\d{2}/, layout: '04', range: ['minute', 0, 59] },
  { pattern: /^:/, layout: ':' },
  { pattern: /^\d{2}/, layout: '05', range: ['second', 0, 59] },
]
const zone: LayoutPart = { pattern: /^(?:Z|[+-]\d{2}:\d{2})/, layout: 'Z07:00' }

/** The canonical text, or Go's error message. */
export function parseTime(text: string, micro: boolean): { readonly text: string } | { readonly error: string } {
  const layout = micro ? rfc3339Micro : rfc3339
  const fraction: LayoutPart = micro
    ? { pattern: /^\.\d{6}/, layout: '.000000' }
    : { pattern: /^(?:[.,]\d+)?/, layout: '' }
  const parts: string[] = []
  let rest = text
  for (const step of [...layoutParts, fraction, zone]) {
    const found = step.pattern.exec(rest)
    if (!found)
      return {
        error: `parsing time ${quoteGo(text)} as ${quoteGo(layout)}: cannot parse ${quoteGo(rest)} as ${quoteGo(step.layout)}`,
      }
    rest = rest.slice(found[0].length)
    parts.push(found[0])
    const [name, low, high] = step.range ?? ['', 0, Number.POSITIVE_INFINITY]
    if (name !== '' && (Number(found[0]) < low || Number(found[0]) > high))
      return { error: `parsing time ${quoteGo(text)}: ${name} out of range` }
  }
  if (rest !== '') return { error: `parsing time ${quoteGo(text)}: extra text: ${quoteGo(rest)}` }
  const days = new Date(Date.UTC(Number(parts[0]), Number(parts[2]), 0)).getUTCDate()
  if (Number(parts[4]) > days) return { error: `parsing time ${quoteGo(text)}: day out of range` }
  return { text: canonicalTime(text, parts[11]!, micro) }
}

function canonicalTime(text: string, fraction: string, micro: boolean): string {
  // The fraction is removed first, since Date keeps milliseconds only and rejects a decimal comma.
  const seconds = new Date(fraction === '' ? text : text.replace(fraction, '')).toISOString().slice(0, 19)
  return micro ? `${seconds}${fraction}Z` : `${seconds}Z`
}

function quoteGo(text: string): string {
  return JSON.stringify(text)
}
