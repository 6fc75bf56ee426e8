/** One run of the program `ngrok`, from its start to its end: the addresses that its tunnel has, and what it complains of. */
import { Deadlines } from '../client/deadline.ts'
import type { WebhookContext } from '../core/webhook-server.ts'
import { KopfError } from '../errors.ts'
import { runProgram } from '../util/program.ts'
import { complaintOf, tunnelUrlOf } from './ngrok-log.ts'

export interface NgrokOptions {
  /** Where the tunnel ends: `http://127.0.0.1:8080`. */
  readonly target: string
  readonly token: string | undefined
  readonly region: string | undefined
  readonly binary: string
}

/** One or the other. */
export interface NgrokNews {
  readonly url?: string | undefined
  readonly complaint?: string | undefined
}

/** For the tunnel to be opened. */
const openingMs = 30_000

export async function* runNgrok(
  options: NgrokOptions,
  { clock, signal }: Pick<WebhookContext, 'clock' | 'signal'>,
): AsyncGenerator<NgrokNews, void, undefined> {
  const deadline = new Deadlines(clock, signal).start(openingMs, signal, toNoTunnel)
  try {
    for await (const line of runProgram({ ...toProgram(options), clock, signal: deadline.signal })) {
      const news = { url: tunnelUrlOf(line), complaint: hide(options.token, complaintOf(line)) }
      if (news.url !== undefined) deadline.lift()
      if (news.url !== undefined || news.complaint !== undefined) yield news
    }
    if (deadline.signal.aborted && !signal.aborted) yield { complaint: toNoTunnel().message }
  } catch (error) {
    throw toNgrokError(whyNotStarted(error as NodeJS.ErrnoException, options), error)
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
    // Not as an argument, which everybody on this machine can read.
    env: token === undefined ? {} : { NGROK_AUTHTOKEN: token },
  }
}

function toNoTunnel(): Error {
  return new Error(`no tunnel was opened within ${openingMs / 1000} seconds`)
}

function hide(token: string | undefined, text: string | undefined): string | undefined {
  return token === undefined ? text : text?.replaceAll(token, '(hidden)')
}

function whyNotStarted({ code, message }: NodeJS.ErrnoException, { binary }: NgrokOptions): string {
  if (code === 'ENOENT') return `there is no program "${binary}"; install ngrok 3, or give the path of it as "binary"`
  if (code === 'EACCES') return `"${binary}" may not be run by this user, or is no program; check "binary"`
  return `"${binary}" cannot be run: ${message}`
}
