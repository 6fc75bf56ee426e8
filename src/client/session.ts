/**
 * Sends API calls over a transport and parses the responses: timeouts, retries, errors. Every request of the operator goes through a
 * session. Does not build the calls.
 */
import { KopfError } from '../errors.ts'
import { dropNullFields, type JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Observer, RequestPurpose } from '../observer.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { holdsConcealed } from '../util/concealed.ts'
import { isPlainObject } from '../util/json/json.ts'
import { parseJsonText, toJsonText } from '../util/json/json-text.ts'
import { type LazyOptions, minLazyLength, parseList, parseObject } from '../util/json/lazy-json.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { Tracing } from '../util/tracing/spans.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { ApiError, parseRetryAfter, toApiError, truncateText } from './api-error.ts'
import { ConnectionError, toAnswerTooLarge, toConnectionError, toTimeout } from './connection-error.ts'
import { toQuery } from './paths.ts'
import { isWorthRetrying, retryDelays } from './retries.ts'
import { type SessionDeadline, SessionDeadlines } from './session-deadline.ts'

/** The part of `settings.networking` that sessions use. */
export interface Networking {
  readonly requestTimeout: Duration | null
  readonly connectTimeout: Duration | null
  readonly errorBackoffs: Duration | Iterable<Duration>
  readonly enforceRetryAfter: boolean
}

export interface RetryState {
  readonly call: ApiCall
  /** The number of the failed attempt; the first is 1. */
  readonly attempt: number
  readonly error: ApiError | ConnectionError
  readonly delayMs: number
}

export interface SessionOptions {
  readonly transport: Transport
  /** Read at each request, since settings may change at any time. */
  readonly networking: Networking
  readonly clock: Clock
  readonly userAgent: string
  /** Aborted when no more requests follow: stops the timer of the deadlines. */
  readonly signal?: AbortSignal
  /** Called for each failed attempt that will be retried. */
  readonly onRetry?: (retry: RetryState) => void
  readonly observer?: Observer | undefined
  readonly tracing?: Tracing | undefined
  /**
   * Returns a check for calls that may become forbidden, for example after lost leadership. The check runs before an attempt and
   * again before its first byte is sent; if it throws, nothing is sent.
   */
  readonly guardOf?: ((call: ApiCall) => (() => void) | undefined) | undefined
  /** The maximum size of one response. Default: 256 MiB. */
  readonly maxAnswerBytes?: number
  /** A number from 0 to 1 for the jitter of retries. Default: `Math.random`. */
  readonly random?: () => number
}

/**
 * The maximum size of a response, so that a server cannot exhaust the memory. It allows a page of 500 objects with 512 KiB each; V8's limit
 * for one string is 512 MiB. Objects may have 1.5 MiB (etcd's default), so lists retry with smaller pages. Responses are
 * not compressed (`accept-encoding: identity`), so received bytes are the real size.
 */
const maxAnswerBytes = 256 * 1024 * 1024

export function createSession(options: SessionOptions): Session {
  return new RetryingSession(options)
}

/** The HTTP status of the response, as far as there was one. */
interface SeenResponse {
  code: number | undefined
}

class RetryingSession implements Session {
  readonly #options: SessionOptions
  readonly #deadlines: SessionDeadlines

  constructor(options: SessionOptions) {
    this.#options = options
    this.#deadlines = new SessionDeadlines(options.clock, options.signal)
  }

  async request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject> {
    const { networking, clock, random = Math.random, onRetry } = this.#options
    const { enforceRetryAfter } = networking
    const errorBackoffs = call.backoffsMs?.map((ms) => ms / 1000) ?? networking.errorBackoffs
    const delays = retryDelays({ errorBackoffs, enforceRetryAfter }, random)
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#trace(call, attempt, (seen) => this.#attempt(call, signal, seen))
      if (!(outcome instanceof ApiError || outcome instanceof ConnectionError)) return outcome
      const delayMs = isWorthRetrying(call, outcome) ? delays.next(outcome) : undefined
      if (delayMs === undefined) throw outcome
      onRetry?.({ call, attempt, error: outcome, delayMs })
      await clock.sleep(delayMs, signal)
    }
  }

  async stream(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { connectTimeout, requestTimeout } = this.#options.networking
    const ownLimit = call.headTimeoutMs === undefined ? undefined : call.headTimeoutMs / 1000
    const request = this.#toRequest(call)
    const deadline = this.#startDeadline(
      call,
      ownLimit ?? connectTimeout ?? requestTimeout,
      signal,
      'the head of an answer',
    )
    const send = async (seen: SeenResponse) => {
      const response = await this.#options.transport.send(request, deadline.signal)
      seen.code = response.status
      if (!isSuccess(response)) throw await this.#readError(call, response, deadline)
      return response
    }
    try {
      const response = await this.#observe(call, 1, { code: undefined }, send)
      deadline.clearTimeout()
      return new StreamedBody(call, response.body, deadline)
    } catch (error) {
      deadline.release()
      signal.throwIfAborted()
      throw error instanceof ApiError ? error : toConnectionError(call, error)
    }
  }

  /** Sends one attempt, in a span if it is part of traced work. Streams have none: a span as long as a watch is never complete. */
  #trace<T>(call: ApiCall, attempt: number, send: (seen: SeenResponse) => Promise<T>): Promise<T> {
    const seen: SeenResponse = { code: undefined }
    const spans = this.#options.tracing?.spans
    if (spans === undefined) return this.#observe(call, attempt, seen, send)
    const { method, path } = call
    return spans.request(
      { method, path, attempt },
      () => this.#observe(call, attempt, seen, send),
      () => seen.code,
    )
  }

  /** Reports the attempt to the observer, with the status that `send` has put into `seen`. */
  async #observe<T>(
    call: ApiCall,
    attempt: number,
    seen: SeenResponse,
    send: (seen: SeenResponse) => Promise<T>,
  ): Promise<T> {
    const { observer, clock } = this.#options
    if (observer?.requestFinished === undefined) return send(seen)
    const startedMs = monotonicNow(clock)
    try {
      return await send(seen)
    } finally {
      const durationMs = monotonicNow(clock) - startedMs
      const { method, path, purpose = 'other', resource } = call
      observer.requestFinished({ method, path, purpose, resource, code: seen.code, attempt, durationMs })
    }
  }

  /** The response or the error of one attempt. Rejects only with the signal's reason, or if the call itself is invalid. */
  async #attempt(
    call: ApiCall,
    signal: AbortSignal | undefined,
    seen: SeenResponse,
  ): Promise<JsonObject | ApiError | ConnectionError> {
    const { guardOf, networking, tracing } = this.#options
    const check = guardOf?.(call)
    const request = { ...this.#toRequest(call, tracing?.spans?.traceHeaders()), ...(check && { check }) }
    const limit = call.timeoutMs === undefined ? networking.requestTimeout : call.timeoutMs / 1000
    check?.()
    const deadline = this.#startDeadline(call, limit, signal, 'an answer')
    try {
      const response = await this.#options.transport.send(request, deadline.signal)
      seen.code = response.status
      if (!isSuccess(response)) return await this.#readError(call, response, deadline)
      return parseAnswer(call, response, await this.#readText(call, response, deadline))
    } catch (error) {
      signal?.throwIfAborted()
      check?.()
      return toConnectionError(call, error)
    } finally {
      deadline.release()
    }
  }

  #toRequest(
    { method, path, query, body, contentType, accept, isUrgent }: ApiCall,
    traceHeaders?: Readonly<Record<string, string>>,
  ): TransportRequest {
    const headers = { ...traceHeaders, accept: accept ?? 'application/json', 'user-agent': this.#options.userAgent }
    const target = path + toQuery(query)
    const urgency = isUrgent ? { isUrgent } : undefined
    if (body === undefined) return { method, path: target, headers, ...urgency }
    const text = toJsonText(body)
    if (holdsConcealed(body, text)) throw concealedValueError(method, path)
    return {
      ...urgency,
      method,
      path: target,
      headers: { ...headers, 'content-type': contentType ?? 'application/json' },
      body: text,
    }
  }

  #startDeadline(
    call: ApiCall,
    limit: Duration | null,
    signal: AbortSignal | undefined,
    what: string,
  ): SessionDeadline {
    const limitMs = limit === null ? null : toMs(limit, 'networking.requestTimeout')
    return this.#deadlines.start(limitMs, signal, () => toTimeout(call, what, limitMs ?? 0))
  }

  /** Reads the body to its end, so that the connection can be reused. A response that is too large closes the connection. */
  async #readText(call: ApiCall, { body, headers }: TransportResponse, { signal }: SessionDeadline): Promise<string> {
    const maxBytes = Math.min(call.maxAnswerBytes ?? Infinity, this.#options.maxAnswerBytes ?? maxAnswerBytes)
    const chunks: Uint8Array[] = []
    let size = 0
    let isTooLarge = Number(headers['content-length'] ?? 0) > maxBytes
    for await (const chunk of body) {
      size += chunk.length
      isTooLarge ||= size > maxBytes
      if (isTooLarge) break
      chunks.push(chunk)
    }
    // After an abort, a transport may end the body instead of failing; a partial response must not be parsed.
    signal.throwIfAborted()
    if (isTooLarge) throw toAnswerTooLarge(call, maxBytes)
    // Most responses arrive in one chunk: no copy.
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  }

  async #readError(call: ApiCall, response: TransportResponse, deadline: SessionDeadline): Promise<ApiError> {
    const text = await this.#readText(call, response, deadline)
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], this.#options.clock.now())
    const location = response.status < 400 ? 'redirects are not followed; give the final address of the server' : ''
    return toApiError(call, { status: response.status, text: text.trim() === '' ? location : text, retryAfterMs })
  }
}

function isSuccess({ status }: TransportResponse): boolean {
  return status >= 200 && status < 300
}

function parseAnswer(call: ApiCall, { status, headers }: TransportResponse, text: string): JsonObject | ApiError {
  const type = String(headers['content-type'] ?? 'nothing in particular')
  try {
    const parsed = parseText(call, text)
    if (isPlainObject(parsed)) return dropNullFields(parsed)
  } catch {
    // Text that is not JSON gets the same error as JSON that is not an object.
  }
  const message = `the answer is no JSON object but ${truncateText(type)} of ${text.length} characters; check that this is the address of a Kubernetes API server`
  return new ApiError({ method: call.method, path: call.path, status, reason: 'NotJson', message })
}

function parseText({ lazy }: ApiCall, text: string): unknown {
  if (lazy === undefined || text.length < minLazyLength) return parseJsonText(text)
  return lazy.form === 'list' ? parseList(text, lazy) : parseObject(text, lazy)
}

/** The body of a stream. Failures become `ConnectionError`s; leaving the loop closes the connection, even before the first read. */
class StreamedBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #call: ApiCall
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #deadline: SessionDeadline

  constructor(call: ApiCall, body: AsyncIterable<Uint8Array>, deadline: SessionDeadline) {
    this.#call = call
    this.#chunks = body[Symbol.asyncIterator]()
    this.#deadline = deadline
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { signal } = this.#deadline
    try {
      const { done, value } = await this.#chunks.next()
      if (!done) return { done: false, value }
      signal.throwIfAborted()
    } catch (error) {
      this.#deadline.release()
      signal.throwIfAborted()
      throw toConnectionError(this.#call, error)
    }
    return await this.return()
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#deadline.release()
    await this.#chunks.return?.()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** A write with a concealed value would store its placeholder text as the value. */
function concealedValueError(method: string, path: string): KopfError {
  return new KopfError(
    'KOPF_OBJECT',
    `Cannot ${method} ${path}: the object holds the old value of a Secret, which is concealed; take the current value from "body"`,
  )
}

/** One API request as a value. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Without the query; its segments are URL-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** A JSON value; a bigint is written as an integer. */
  readonly body?: unknown
  /** Default: `application/json`. */
  readonly contentType?: string
  /** Default: `application/json`. */
  readonly accept?: string
  /** Timeout for the head of a streamed response. Default: `networking.connectTimeout`, otherwise `networking.requestTimeout`. */
  readonly headTimeoutMs?: number
  /** Timeout for the whole response. Default: `networking.requestTimeout`. */
  readonly timeoutMs?: number
  /** The request does not wait for a free connection: it gets an additional one if all are busy. */
  readonly isUrgent?: boolean
  /** Delays between attempts; an empty list for a single attempt. Default: `networking.errorBackoffs`. */
  readonly backoffsMs?: readonly number[]
  /** Large objects of the response are kept as text and frozen, see util/json/lazy-json.ts. `form`: one object, or a list of objects. */
  readonly lazy?: LazyOptions & { readonly form: 'object' | 'list' }
  /** A larger response is not read further and fails with a `ConnectionError` whose problem is `too-large`. Default: that of the session. */
  readonly maxAnswerBytes?: number
  /** What the request is for, for metrics. Default: `other`. */
  readonly purpose?: RequestPurpose
  /** The resource in the path, for metrics. */
  readonly resource?: Pick<Resource, 'group' | 'version' | 'plural'> | undefined
}

export interface Session {
  /**
   * Sends a request and returns the parsed response, read to its end. Retries temporary failures (`networking.errorBackoffs`), then rejects
   * with an `ApiError` or a `ConnectionError`.
   */
  request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject>

  /**
   * Sends a request and returns the body of a 2xx response as it arrives; leaving the loop closes the connection. One attempt: watches have
   * a backoff of their own. Other responses reject with an `ApiError`.
   */
  stream(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>
}
