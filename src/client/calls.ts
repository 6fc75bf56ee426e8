/** A call of the API as a value, and who can make it. What is above builds calls; session.ts makes them. */
import type { JsonObject } from '../kube/objects.ts'
import type { LazyOptions } from '../util/lazy-json.ts'

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Without the query; names in it are encoded already. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** A JSON value; bigints in it are written as the integers they are. */
  readonly body?: unknown
  /** `application/json` unless told. */
  readonly contentType?: string
  /** `application/json` unless told. */
  readonly accept?: string
  /** How long a stream may take to begin, in milliseconds, instead of what `networking` says. */
  readonly beginWithinMs?: number
  /** How long an answer may take, in milliseconds, instead of `networking.requestTimeout`. */
  readonly withinMs?: number
  /** Not to wait for others: it gets a connection of its own where all are busy. */
  readonly isUrgent?: boolean
  /** The waits between attempts, instead of `networking.errorBackoffs`; none for a single attempt. */
  readonly backoffsMs?: readonly number[]
  /** The answer is an object or a list of objects: those that are large are kept as text and are frozen, see util/lazy-json.ts. */
  readonly lazy?: LazyOptions & { readonly form: 'object' | 'list' }
  /** A longer answer is not read to its end: it is an `ApiError` with the reason `AnswerTooLarge`. */
  readonly maxAnswerBytes?: number
}

export interface Session {
  /**
   * The parsed answer. Retries what may pass by itself (`networking.errorBackoffs`); anything else is an `ApiError`.
   * The answer is always read to its end.
   */
  request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject>

  /**
   * The body of an answer that has begun well, as it comes; leaving the iteration closes it. One attempt only: whoever
   * watches has a back-off of its own. Anything but 2xx is an `ApiError`.
   */
  stream(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}
