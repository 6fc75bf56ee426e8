/** What an error means for a watch, whether it came instead of the answer or as an event in it. */
import { ApiError } from '../client/api-error.ts'
import { KopfError } from '../errors.ts'
import { isPlainObject } from '../util/json/json.ts'

/** Told apart by their codes: nobody outside would catch them. */
export type WatchProblem = 'malformed' | 'lagging' | 'endless' | 'silent' | 'closed'

const codes: Readonly<Record<WatchProblem, string>> = {
  malformed: 'KOPF_WATCH_MALFORMED',
  lagging: 'KOPF_WATCH_LAGGING',
  endless: 'KOPF_WATCH_LIST',
  silent: 'KOPF_WATCH_SILENT',
  closed: 'KOPF_WATCH_CLOSED',
}

export function isProblem(error: unknown, problem: WatchProblem): boolean {
  return error instanceof KopfError && error.code === codes[problem]
}

/** A line that is not JSON: what it would have said, nobody knows. */
export function malformedLine(what: string): KopfError {
  return new KopfError(codes.malformed, `Cannot go on reading a watch: got ${what}`)
}

/** The server goes back behind what has been seen of it, and says so by a bookmark, not by an error. */
export function laggingServer(version: string, seen: string): KopfError {
  return new KopfError(
    codes.lagging,
    `Cannot go on from version "${seen}": the server is at "${version}"; it has not caught up with another, or was restored from a backup`,
  )
}

/** A bookmark came before the one that ends the objects that are there: the server does not send that one. */
export function noInitialEnd(): KopfError {
  const why = 'the server does not say where they end; they are listed instead'
  return new KopfError(codes.endless, `Cannot stream the objects that are there: ${why}`)
}

/** Nothing has come for too long: the other side may have gone without a word. */
export function silentWatch(): KopfError {
  const why = 'nothing has come for longer than "watching.inactivityTimeout"'
  return new KopfError(codes.silent, `Cannot rely on a watch any longer: ${why}`)
}

/** Watches are to last for minutes. */
export function closedAtOnce(): KopfError {
  const why = 'the server closes it right after the beginning, again and again'
  return new KopfError(codes.closed, `Cannot keep a watch open: ${why}`)
}

/** The version we have is too old for the server to go on from. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
}

/**
 * The server is behind the version we have: one of several that has not caught up, or one restored from a backup.
 * It is told as a time-out with this cause; by older servers only in the message.
 */
export function isTooLargeVersion(error: unknown): boolean {
  if (isProblem(error, 'lagging')) return true
  if (!(error instanceof ApiError)) return false
  const { causes } = error.details
  const isTheCause = (cause: unknown) => isPlainObject(cause) && cause['reason'] === 'ResourceVersionTooLarge'
  return (Array.isArray(causes) && causes.some(isTheCause)) || error.message.includes('Too large resource version')
}

/** The request itself is what the server minds: asking again would not help. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && [400, 405, 406, 415, 422, 501].includes(error.status)
}

export function retryAfterOf(error: unknown): number {
  return (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 0
}
