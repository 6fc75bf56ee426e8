/**
 * Calls in, parsed answers out: time limits, retries and errors that say what is wrong, over whatever transport there is.
 * Everything that talks to the API does so through here; knows nothing of what is asked for.
 */
import { KopfError } from '../errors.ts'
import { dropNullFields } from '../kube/null-fields.ts'
import type { JsonObject } from '../kube/objects.ts'
import type { Clock } from '../util/clock.ts'
import { holdsConcealed } from '../util/concealed.ts'
import { type Duration, toMs } from '../util/duration.ts'
import { isPlainObject } from '../util/json.ts'
import { parseJsonText, toJsonText } from '../util/json-text.ts'
import { minLazyLength, parseList, parseObject } from '../util/lazy-json.ts'
import type { Transport, TransportRequest, TransportResponse } from '../util/transport.ts'
import { ApiError, cut, parseRetryAfter, toApiError } from './api-error.ts'
import type { ApiCall, Session } from './calls.ts'
import { ConnectionError, toAnswerTooLarge, toConnectionError, toTimeout } from './connection-error.ts'
import { type Deadline, Deadlines } from './deadline.ts'
import { toQuery } from './requests.ts'
import { isWorthRetrying, retryDelays } from './retries.ts'

/** `settings.networking`, as far as it matters here. */
export interface Networking {
  readonly requestTimeout: Duration | null
  readonly connectTimeout: Duration | null
  readonly errorBackoffs: Duration | Iterable<Duration>
  readonly enforceRetryAfter: boolean
}

export interface Retry {
  readonly call: ApiCall
  /** Of the attempt that failed; the first is 1. */
  readonly attempt: number
  readonly error: ApiError | ConnectionError
  readonly delayMs: number
}

export interface SessionOptions {
  readonly transport: Transport
  /** Read anew at each request: settings may change at any time. */
  readonly networking: Networking
  readonly clock: Clock
  readonly userAgent: string
  /** Aborted when no more requests are to come: no timer is left behind then. */
  readonly signal?: AbortSignal
  /** Told of each attempt that failed and will be repeated. */
  readonly onRetry?: (retry: Retry) => void
  /**
   * Who has a say in whether a call is made, if anybody. Asked right before an attempt is sent, and again as its first byte goes
   * out: where it throws, nothing is sent.
   */
  readonly guardOf?: ((call: ApiCall) => (() => void) | undefined) | undefined
  /** How much of one answer is read; see `maxAnswerBytes` below for the default. */
  readonly maxAnswerBytes?: number
  /** Between 0 and 1; spreads the retries of many. */
  readonly random?: () => number
}

/**
 * The largest answer that is read. Above it, memory would be at the mercy of the other side. A page of 500 objects with 512 KiB each
 * is within it; V8 cannot make one string of more than 512 MiB. Objects can have 1.5 MiB (etcd's default): lists ask for smaller
 * pages where one is too large. Answers are never compressed (`accept-encoding: identity`), so the bytes that come are what counts.
 */
const maxAnswerBytes = 256 * 1024 * 1024

export function createSession(options: SessionOptions): Session {
  return new RetryingSession(options)
}

class RetryingSession implements Session {
  readonly #options: SessionOptions
  readonly #deadlines: Deadlines

  constructor(options: SessionOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.clock, options.signal)
  }

  async request(call: ApiCall, signal?: AbortSignal): Promise<JsonObject> {
    const { networking, clock, random = Math.random, onRetry } = this.#options
    const { enforceRetryAfter } = networking
    const errorBackoffs = call.backoffsMs?.map((ms) => ms / 1000) ?? networking.errorBackoffs
    const delays = retryDelays({ errorBackoffs, enforceRetryAfter }, random)
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(call, signal)
      if (!(outcome instanceof ApiError || outcome instanceof ConnectionError)) return outcome
      const delayMs = isWorthRetrying(call, outcome) ? delays.next(outcome) : undefined
      if (delayMs === undefined) throw outcome
      onRetry?.({ call, attempt, error: outcome, delayMs })
      await clock.sleep(delayMs, signal)
    }
  }

  async stream(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { connectTimeout, requestTimeout } = this.#options.networking
    const ownLimit = call.beginWithinMs === undefined ? undefined : call.beginWithinMs / 1000
    const request = this.#toRequest(call)
    const deadline = this.#startDeadline(
      call,
      ownLimit ?? connectTimeout ?? requestTimeout,
      signal,
      'the head of an answer',
    )
    try {
      const response = await this.#options.transport.send(request, deadline.signal)
      if (!isSuccess(response)) throw await this.#refusal(call, response, deadline)
      deadline.lift()
      return new StreamedBody(call, response.body, deadline)
    } catch (error) {
      deadline.release()
      signal.throwIfAborted()
      throw error instanceof ApiError ? error : toConnectionError(call, error)
    }
  }

  /** The answer, or what went wrong; rejects only with the signal's reason, or where the call cannot be made at all. */
  async #attempt(call: ApiCall, signal: AbortSignal | undefined): Promise<JsonObject | ApiError | ConnectionError> {
    const { guardOf, networking } = this.#options
    const check = guardOf?.(call)
    const request = { ...this.#toRequest(call), ...(check && { check }) }
    const limit = call.withinMs === undefined ? networking.requestTimeout : call.withinMs / 1000
    check?.()
    const deadline = this.#startDeadline(call, limit, signal, 'an answer')
    try {
      const response = await this.#options.transport.send(request, deadline.signal)
      if (!isSuccess(response)) return await this.#refusal(call, response, deadline)
      return parseAnswer(call, response, await this.#readText(call, response, deadline))
    } catch (error) {
      signal?.throwIfAborted()
      check?.()
      return toConnectionError(call, error)
    } finally {
      deadline.release()
    }
  }

  #toRequest({ method, path, query, body, contentType, accept, isUrgent }: ApiCall): TransportRequest {
    const headers = { accept: accept ?? 'application/json', 'user-agent': this.#options.userAgent }
    const target = path + toQuery(query)
    const urgency = isUrgent ? { isUrgent } : undefined
    if (body === undefined) return { method, path: target, headers, ...urgency }
    const text = toJsonText(body)
    if (holdsConcealed(body, text)) throw concealedBody(method, path)
    return {
      ...urgency,
      method,
      path: target,
      headers: { ...headers, 'content-type': contentType ?? 'application/json' },
      body: text,
    }
  }

  #startDeadline(call: ApiCall, limit: Duration | null, signal: AbortSignal | undefined, what: string): Deadline {
    const limitMs = limit === null ? null : toMs(limit, 'networking.requestTimeout')
    return this.#deadlines.start(limitMs, signal, () => toTimeout(call, what, limitMs ?? 0))
  }

  /** Reads to the end, after which the connection is free for the next request; an answer too large closes the connection. */
  async #readText(call: ApiCall, { body, headers }: TransportResponse, { signal }: Deadline): Promise<string> {
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
    // A transport may end the body of one who has gone, rather than fail: half an answer is none.
    signal.throwIfAborted()
    if (isTooLarge) throw toAnswerTooLarge(call, maxBytes)
    // Most answers come in one piece.
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  }

  async #refusal(call: ApiCall, response: TransportResponse, deadline: Deadline): Promise<ApiError> {
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
    const answer = parseText(call, text)
    if (isPlainObject(answer)) return dropNullFields(answer)
  } catch {
    // Told below: of what is no JSON and of JSON that is no object there is the same to say.
  }
  const message = `the answer is no JSON object but ${cut(type)} of ${text.length} characters; check that this is the address of a Kubernetes API server`
  return new ApiError({ method: call.method, path: call.path, status, reason: 'NotJson', message })
}

function parseText({ lazy }: ApiCall, text: string): unknown {
  if (lazy === undefined || text.length < minLazyLength) return parseJsonText(text)
  return lazy.form === 'list' ? parseList(text, lazy) : parseObject(text, lazy)
}

/** What breaks on the way is told as everywhere else; leaving closes the connection, even before the first read. */
class StreamedBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #call: ApiCall
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #deadline: Deadline

  constructor(call: ApiCall, body: AsyncIterable<Uint8Array>, deadline: Deadline) {
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

/** The text that stands for the value would become the value. */
function concealedBody(method: string, path: string): KopfError {
  return new KopfError(
    'KOPF_OBJECT',
    `Cannot ${method} ${path}: the object holds the old value of a Secret, which is concealed; take the present value from "body"`,
  )
}
