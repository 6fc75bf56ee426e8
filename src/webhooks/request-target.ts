/** What the first line of a request says: which handler is meant, and how long its answer is waited for. Pure. */
import { WebhookError } from '../errors.ts'

export interface Target {
  /** The id of the handler: decoded, with its slashes; empty where the path ends before it. */
  readonly webhook: string
  readonly timeoutMs: number
}

/** The longest that an API server waits for a webhook; it says in each request how long that is. */
const longestMs = 30_000

interface FirstLine {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** Throws what to answer where the request is none for a webhook. */
export function parseTarget({ method, url = '' }: FirstLine, path: string): Target {
  const [pathname = '', query = ''] = splitOnce(url, '?')
  const isKnown = pathname === path || pathname.startsWith(`${path}/`)
  if (!isKnown) throw new WebhookError(404, 'there is no webhook at this path')
  if (method !== 'POST') throw new WebhookError(405, 'webhooks are asked with POST')
  return { webhook: decode(pathname.slice(path.length + 1)), timeoutMs: parseTimeout(query) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new WebhookError(400, 'the path is not well encoded')
  }
}

function splitOnce(text: string, separator: string): string[] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

/** As Go writes durations: `10s`, `1m0s`, `1.5s`, `500ms`. Whatever else it is, the longest will do. */
function parseTimeout(query: string): number {
  // What API servers write, all day long.
  const seconds = /^timeout=([1-9]|[12]\d|30)s$/.exec(query)?.[1]
  if (seconds !== undefined) return Number(seconds) * 1000
  const text = /(?:^|&)timeout=([^&]*)/.exec(query)?.[1] ?? ''
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m))+$/.test(text)) return longestMs
  const parts = text.matchAll(/([\d.]+)(ms|s|m)/g)
  const totalMs = [...parts].reduce((sum, [, digits, unit]) => sum + Number(digits) * unitMs[unit!]!, 0)
  return totalMs > 0 ? Math.min(totalMs, longestMs) : longestMs
}
