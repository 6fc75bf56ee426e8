/** Runs the program `ngrok` once, and yields the tunnel addresses and errors from its log. Called by tunnel.ts, which restarts it. */
import { SessionDeadlines } from '../../client/session-deadline.ts'
import { KopfError } from '../../errors.ts'
import type { WebhookContext } from '../../settings/webhook-server.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { tryParseJsonText } from '../../util/json/json-text.ts'
import { runProgram } from '../../util/process/child-program.ts'

export interface NgrokOptions {
  /** The local address where the tunnel ends: `http://127.0.0.1:8080`. */
  readonly target: string
  readonly token: string | undefined
  readonly region: string | undefined
  readonly binary: string
}

/** One log line of ngrok: either the address of an opened tunnel, or an error. */
export interface NgrokUpdate {
  readonly url?: string | undefined
  readonly error?: string | undefined
}

/** The program is stopped if it has not opened a tunnel within this time. */
const openTimeoutMs = 30_000

export async function* runNgrok(
  options: NgrokOptions,
  { clock, signal }: Pick<WebhookContext, 'clock' | 'signal'>,
): AsyncGenerator<NgrokUpdate, void, undefined> {
  const deadline = new SessionDeadlines(clock, signal).start(openTimeoutMs, signal, toTimeoutError)
  try {
    for await (const line of runProgram({ ...toProgram(options), clock, signal: deadline.signal })) {
      const update = { url: parseTunnelUrl(line), error: hideToken(options.token, parseNgrokError(line)) }
      if (update.url !== undefined) deadline.clearTimeout()
      if (update.url !== undefined || update.error !== undefined) yield update
    }
    if (deadline.signal.aborted && !signal.aborted) yield { error: toTimeoutError().message }
  } catch (error) {
    throw toNgrokError(explainStartError(error as NodeJS.ErrnoException, options), error)
  } finally {
    deadline.release()
  }
}

export function toNgrokError(why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_NGROK', `Cannot open a tunnel with ngrok: ${why}`, { cause })
}

function toProgram({ target, token, region, binary }: NgrokOptions) {
  return {
    file: binary,
    args: ['http', '--log', 'stdout', '--log-format', 'json', ...(region ? ['--region', region] : []), target],
    // Not as an argument: all users of the machine can read the arguments of a process.
    env: token === undefined ? {} : { NGROK_AUTHTOKEN: token },
  }
}

function toTimeoutError(): Error {
  return new Error(`no tunnel was opened within ${openTimeoutMs / 1000} seconds`)
}

function hideToken(token: string | undefined, text: string | undefined): string | undefined {
  return token === undefined ? text : text?.replaceAll(token, '(hidden)')
}

function explainStartError({ code, message }: NodeJS.ErrnoException, { binary }: NgrokOptions): string {
  if (code === 'ENOENT') return `there is no program "${binary}"; install ngrok 3, or give its path as "binary"`
  if (code === 'EACCES') return `"${binary}" may not be run by this user, or is no program; check "binary"`
  return `"${binary}" cannot be run: ${message}`
}

/** The address of a tunnel that was opened, or opened again, from a log line of ngrok 3 (`--log-format json`). */
export function parseTunnelUrl(line: string): string | undefined {
  const { msg, url } = parseLogLine(line)
  return msg === 'started tunnel' && typeof url === 'string' && url.startsWith('https://') ? url : undefined
}

/** The error in a log line of ngrok, on one line; undefined for a line without an error. */
export function parseNgrokError(line: string): string | undefined {
  const { err } = parseLogLine(line)
  const text = typeof err === 'string' ? err : /^ERROR:\s*(.*)/.exec(line)?.[1]
  if (text === undefined || text.trim() === '' || text === '<nil>') return undefined
  // The error about an invalid token contains the token.
  const words = text.replaceAll(/(authtoken:\s*)\S+/gi, '$1(hidden)').split(/\s+/)
  return words.join(' ').trim()
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> {
  const entry = tryParseJsonText(line)
  return isPlainObject(entry) ? entry : {}
}
