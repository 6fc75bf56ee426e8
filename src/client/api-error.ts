/**
 * What the server answered when it refused. Made by session.ts of every answer that is no success, and by client.ts of
 * the errors in a watch; read by everybody, with the predicates below.
 */
import { brand, KopfError } from '../errors.ts'
import { isPlainObject, type Json } from '../util/json.ts'
import { parseJsonText } from '../util/json-text.ts'

/** Beyond this, text that is no `Status` is cut: it may be a page for people, or a blob. */
const maxTextLength = 256

/** What the request was. */
export interface Subject {
  readonly method: string
  readonly path: string
}

export interface ApiErrorFields extends Subject {
  /** The status of HTTP. */
  readonly status: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly details?: Readonly<Record<string, Json>> | undefined
  readonly retryAfterMs?: number | undefined
}

/** The API server refused a request. `isNotFound(error)` and its like tell why. */
export class ApiError extends KopfError {
  /** The status of HTTP: 404, 409, … */
  readonly status: number
  /** Kubernetes' own word, such as `AlreadyExists`; empty where the answer has none. */
  readonly reason: string
  /** What the server says of the object and the fields concerned. */
  readonly details: Readonly<Record<string, Json>>
  /** How long the server asks to wait before the next attempt. */
  readonly retryAfterMs: number | undefined
  readonly method: string
  readonly path: string

  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    const { method, path, status, reason = '', message = '' } = fields
    const answer = [String(status), reason].filter((part) => part !== '').join(' ')
    super(
      'KOPF_API',
      `Cannot ${method} ${path}: ${[answer, message].filter((part) => part !== '').join(': ')}`,
      options,
    )
    this.status = status
    this.reason = reason
    this.details = fields.details ?? {}
    this.retryAfterMs = fields.retryAfterMs
    this.method = method
    this.path = path
  }
}
brand('ApiError')(ApiError)

/** Only a `Status` is repeated in full: of other documents nobody knows what secrets they hold. */
export function toApiError(
  call: Subject,
  {
    status,
    text,
    retryAfterMs,
  }: { readonly status: number; readonly text: string; readonly retryAfterMs?: number | undefined },
): ApiError {
  const document = parseDocument(text)
  if (document === undefined) return new ApiError({ ...call, status, message: cut(text), retryAfterMs })
  return fromStatus(call, status, document, retryAfterMs)
}

/** Of a `Status` that came in the middle of a watch, where HTTP has said 200 long ago. */
export function fromStatus(
  { method, path }: Subject,
  status: number,
  document: unknown,
  retryAfterMs?: number | undefined,
): ApiError {
  if (!isPlainObject(document) || document['kind'] !== 'Status') {
    return new ApiError({ method, path, status, retryAfterMs })
  }
  const { reason, message, details, code } = document
  return new ApiError({
    method,
    path,
    status: typeof code === 'number' && code >= 400 ? code : status,
    reason: asText(reason),
    message: asText(message),
    details: isPlainObject(details) ? details : undefined,
    retryAfterMs: retryAfterMs ?? secondsToMs(isPlainObject(details) ? details['retryAfterSeconds'] : undefined),
  })
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(header: string | readonly string[] | undefined, nowMs: number): number | undefined {
  const value = [header].flat()[0]
  if (typeof value !== 'string' || value.trim() === '') return undefined
  if (/^\s*\d+(\.\d+)?\s*$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

function parseDocument(text: string): unknown {
  try {
    return parseJsonText(text)
  } catch {
    return undefined
  }
}

/** On one line: it ends up in logs. */
export function cut(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be removed.
  const line = text.replace(/[\u0000-\u0020\u007f\u2028\u2029]+/g, ' ').trim()
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength - 3)}...` : line
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function secondsToMs(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value * 1000 : undefined
}

function hasStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status
}

/** The object, or the whole resource, is not there. */
export function isNotFound(error: unknown): error is ApiError {
  return hasStatus(error, 404)
}

/** Somebody else has written in between, or a guarded patch did not find what it expected. */
export function isConflict(error: unknown): error is ApiError {
  return hasStatus(error, 409) && error.reason !== 'AlreadyExists'
}

/** There is an object of that name already. */
export function isAlreadyExists(error: unknown): error is ApiError {
  return hasStatus(error, 409) && error.reason === 'AlreadyExists'
}

/** The version is too old to go on from: list anew. */
export function isGone(error: unknown): error is ApiError {
  return hasStatus(error, 410)
}

/** The credentials are not accepted. */
export function isUnauthorized(error: unknown): error is ApiError {
  return hasStatus(error, 401)
}

/** The permissions do not suffice. */
export function isForbidden(error: unknown): error is ApiError {
  return hasStatus(error, 403)
}

/** The object or the patch is not valid. */
export function isUnprocessable(error: unknown): error is ApiError {
  return hasStatus(error, 422)
}

/** The server has too much to do. */
export function isTooManyRequests(error: unknown): error is ApiError {
  return hasStatus(error, 429)
}
