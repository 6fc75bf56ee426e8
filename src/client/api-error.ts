/**
 * Error responses of the API server. session.ts creates an `ApiError` for every response that is not 2xx, watch-lines.ts for ERROR events of
 * a watch. The predicates below tell the usual causes apart.
 */
import { brand, KopfError } from '../errors.ts'
import { getString, isPlainObject, type Json } from '../util/json/json.ts'
import { tryParseJsonText } from '../util/json/json-text.ts'

/** Maximum length of a response that is not a `Status` in a message: it may be an HTML page or binary data. */
const maxTextLength = 256

/** The request of an error. */
export interface ErrorSubject {
  /** The HTTP method of the request. */
  readonly method: string
  /** The path of the request. */
  readonly path: string
}

/** The parameter of `new ApiError()`. */
export interface ApiErrorFields extends ErrorSubject {
  /** The HTTP status. */
  readonly status: number
  /** The `reason` of the `Status`. Default: empty. */
  readonly reason?: string | undefined
  /** The `message` of the `Status`. Default: empty. */
  readonly message?: string | undefined
  /** The `details` of the `Status`. Default: empty. */
  readonly details?: Readonly<Record<string, Json>> | undefined
  /** The delay that the server requests before the next attempt. Default: undefined. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The API server responded to a request with an error. Thrown by all methods of `client`. Its code is `KOPF_API`. Use `isNotFound`,
 * `isConflict` and so on to distinguish the causes.
 *
 * @example
 * ```ts
 * try {
 *   await client.create(configMap)
 * } catch (error) {
 *   if (!isAlreadyExists(error)) throw error
 * }
 * ```
 */
export class ApiError extends KopfError {
  /** The HTTP status: 404, 409 and so on. */
  readonly status: number
  /** The `reason` of the `Status`, such as `AlreadyExists`. Empty if the response has none. */
  readonly reason: string
  /** The `details` of the `Status`: the object and the invalid fields. Empty if the response has none. */
  readonly details: Readonly<Record<string, Json>>
  /** The delay that the server requests before the next attempt (`Retry-After`). Undefined if it requests none. */
  readonly retryAfterMs: number | undefined
  /** The HTTP method of the request. */
  readonly method: string
  /** The path of the request. */
  readonly path: string

  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    const { method, path, status, reason = '', message = '' } = fields
    const result = [String(status), reason].filter((part) => part !== '').join(' ')
    super(
      'KOPF_API',
      `Cannot ${method} ${path}: ${[result, message].filter((part) => part !== '').join(': ')}`,
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

/** Only a `Status` is quoted in full; other JSON documents may contain secrets. */
export function toApiError(
  call: ErrorSubject,
  {
    status,
    text,
    retryAfterMs,
  }: { readonly status: number; readonly text: string; readonly retryAfterMs?: number | undefined },
): ApiError {
  const document = tryParseJsonText(text)
  if (document === undefined) return new ApiError({ ...call, status, message: truncateText(text), retryAfterMs })
  return fromStatus(call, status, document, retryAfterMs)
}

/** The error for a `Status`. In a watch, its `code` replaces the HTTP status, which is 200. */
export function fromStatus(
  { method, path }: ErrorSubject,
  status: number,
  document: unknown,
  retryAfterMs?: number | undefined,
): ApiError {
  if (!isPlainObject(document) || document['kind'] !== 'Status') {
    return new ApiError({ method, path, status, retryAfterMs })
  }
  const { details, code } = document
  return new ApiError({
    method,
    path,
    status: typeof code === 'number' && code >= 400 ? code : status,
    reason: getString(document, 'reason'),
    message: getString(document, 'message'),
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

/** Truncates text to one line for error messages and logs. */
export function truncateText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters.
  const line = text.replace(/[\u0000-\u0020\u007f\u2028\u2029]+/g, ' ').trim()
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength - 3)}...` : line
}

function secondsToMs(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value * 1000 : undefined
}

function hasStatus(error: unknown, status: number): error is ApiError {
  return error instanceof ApiError && error.status === status
}

/**
 * Whether the API server responded with 404: the object or the resource does not exist.
 *
 * @example
 * ```ts
 * await client.delete('configmaps', 'settings').catch((error) => {
 *   if (!isNotFound(error)) throw error
 * })
 * ```
 */
export function isNotFound(error: unknown): error is ApiError {
  return hasStatus(error, 404)
}

/**
 * Whether the API server responded with 409 for a conflict: the object has changed since it was read, or another field manager owns a
 * field.
 */
export function isConflict(error: unknown): error is ApiError {
  return hasStatus(error, 409) && error.reason !== 'AlreadyExists'
}

/** Whether the API server responded with 409 because an object of that name exists. */
export function isAlreadyExists(error: unknown): error is ApiError {
  return hasStatus(error, 409) && error.reason === 'AlreadyExists'
}

/** Whether the API server responded with 410: the `resourceVersion` or the continue token is too old, so list again. */
export function isGone(error: unknown): error is ApiError {
  return hasStatus(error, 410)
}

/** Whether the API server responded with 401: it does not accept the credentials. */
export function isUnauthorized(error: unknown): error is ApiError {
  return hasStatus(error, 401)
}

/** Whether the API server responded with 403: the operator lacks the permission (RBAC). */
export function isForbidden(error: unknown): error is ApiError {
  return hasStatus(error, 403)
}

/** Whether the API server responded with 422: the object or the patch is not valid. */
export function isUnprocessable(error: unknown): error is ApiError {
  return hasStatus(error, 422)
}

/** Whether the API server responded with 429: it is overloaded, or limits this client. */
export function isTooManyRequests(error: unknown): error is ApiError {
  return hasStatus(error, 429)
}
