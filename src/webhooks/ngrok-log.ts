/** What ngrok 3 says in its log (`--log-format json`), as far as it concerns us. Pure. */
import { isPlainObject } from '../util/json.ts'

/** The address of a tunnel that was opened, or opened again. */
export function tunnelUrlOf(line: string): string | undefined {
  const { msg, url } = parse(line)
  return msg === 'started tunnel' && typeof url === 'string' && url.startsWith('https://') ? url : undefined
}

/** What has gone wrong, in its own words, on one line; undefined for a line that does not complain. */
export function complaintOf(line: string): string | undefined {
  const { err } = parse(line)
  const text = typeof err === 'string' ? err : /^ERROR:\s*(.*)/.exec(line)?.[1]
  if (text === undefined || text.trim() === '' || text === '<nil>') return undefined
  // It repeats the token that it does not like.
  const words = text.replaceAll(/(authtoken:\s*)\S+/gi, '$1(hidden)').split(/\s+/)
  return words.join(' ').trim()
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const entry: unknown = JSON.parse(line)
    return isPlainObject(entry) ? entry : {}
  } catch {
    // Some of what it prints is for people.
    return {}
  }
}
