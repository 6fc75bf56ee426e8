/**
 * Errors of watches, and the classification of errors: HTTP responses and ERROR events in the stream are treated the same. Used
 * by reflector.ts and retry-policy.ts.
 */
import { ApiError } from '../client/api-error.ts'
import { KopfError } from '../errors.ts'
import { isPlainObject } from '../util/json/json.ts'

/** The types of watch errors. They are distinguished by their codes, not by classes, because no code outside catches them. */
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

/** A line of the stream is not JSON. */
export function malformedLine(what: string): KopfError {
  return new KopfError(codes.malformed, `Cannot continue to read a watch: got ${what}`)
}

/** A bookmark has a lower version than the ones already seen: the server has gone back in time without sending an error. */
export function laggingServer(version: string, seen: string): KopfError {
  return new KopfError(
    codes.lagging,
    `Cannot continue from version "${seen}": the server is at "${version}"; it has not caught up with another, or was restored from a backup`,
  )
}

/** A bookmark arrived before the bookmark that ends the initial objects: the server does not support streaming lists. */
export function noInitialEnd(): KopfError {
  const why = 'the server does not mark their end; they are listed instead'
  return new KopfError(codes.endless, `Cannot stream the existing objects: ${why}`)
}

/** No data has arrived for longer than the inactivity timeout: the connection may be dead without being closed. */
export function silentWatch(): KopfError {
  const why = 'nothing has come for longer than "watching.inactivityTimeout"'
  return new KopfError(codes.silent, `Cannot rely on a watch any longer: ${why}`)
}

/** The server repeatedly closes the watch right after its beginning. Watches should last for minutes. */
export function closedAtOnce(): KopfError {
  const why = 'the server closes it right after the beginning, again and again'
  return new KopfError(codes.closed, `Cannot keep a watch open: ${why}`)
}

/** The server no longer has the requested version (410 Gone). */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
}

/**
 * The server has not reached the requested version: one of several API servers lags behind, or the storage was restored from a
 * backup. The server responds with a timeout error that has this cause; older servers have it only in the message.
 */
export function isTooLargeVersion(error: unknown): boolean {
  if (isProblem(error, 'lagging')) return true
  if (!(error instanceof ApiError)) return false
  const { causes } = error.details
  const isTheCause = (cause: unknown) => isPlainObject(cause) && cause['reason'] === 'ResourceVersionTooLarge'
  return (Array.isArray(causes) && causes.some(isTheCause)) || error.message.includes('Too large resource version')
}

/** The server rejects the request itself, so that a repetition would fail in the same way. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && [400, 405, 406, 415, 422, 501].includes(error.status)
}

export function retryAfterOf(error: unknown): number {
  return (error instanceof ApiError ? error.retryAfterMs : undefined) ?? 0
}
