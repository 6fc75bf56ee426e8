/**
 * Handles webhook requests: reads the path, the timeout and the body, calls the webhook function, and sends its result, or an error for this request
 * only. Called by listener.ts. Limits the memory, the time and the number of requests. Does not interpret reviews. Never logs headers, bodies or paths,
 * which may contain secrets.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebhookError } from '../../errors.ts'
import { conversionPath } from '../../kube/reviews.ts'
import type { WebhookContext, WebhookFn } from '../../settings/webhook-server.ts'
import { monotonicNow, nextTurn } from '../../util/async/clock.ts'
import { TimerQueue } from '../../util/async/timer-queue.ts'
import { estimateParsedBytes, isDeeperThan } from '../../util/json/json-size.ts'
import { parseJsonText, toJsonText } from '../../util/json/json-text.ts'
import { readBody } from './body.ts'
import {
  abortExchange,
  createExchange,
  type Exchange,
  RequestInfo,
  remoteAddress,
  toDisconnectError,
  toSlowBodyError,
  toStatusText,
  toTimeoutError,
  type WebhookResponse,
  writeResponse,
} from './exchange.ts'
import { defaultBudgetBytes, MemoryBudget, type MemoryReservation } from './memory-budget.ts'

const mebibyte = 1024 * 1024
/**
 * API servers accept requests of up to 3 MiB. A review contains two objects of up to this size, the new and the old one, and further fields such as the
 * user and the options.
 */
const maxAdmissionBytes = 2 * 3 * mebibyte + 256 * 1024
/** A conversion review may contain all objects of a list, which have no common limit in the API server: this one limits the memory. */
const maxConversionBytes = 16 * mebibyte
/** The share of the memory budget for bodies that are not parsed yet. They are buffers outside of the heap. */
const bufferedShare = 1 / 2
/** The maximum number of concurrent requests. */
const maxActive = 4096
/** Larger bodies take milliseconds to parse. They are parsed one at a time, with other work in between. */
const largeBytes = 128 * 1024
/** The interval between two checks of the progress of a body or a response. */
const progressIntervalMs = 5000
/** The number of bytes of a body that must arrive within this interval: 16 KiB per second. */
const minProgressBytes = (16 * 1024 * progressIntervalMs) / 1000
/** The delay before the second check of a body that is too slow. */
const recheckMs = 1000
/** A reservation of an aborted request is released after this time, even if the webhook function still runs: one that never ends would block the budget. */
const abandonedReservationMs = 60_000
/** Larger responses may not fit into the socket buffers: a client that does not read one in time is disconnected. */
const maxUnreadBytes = 4096

export interface ReviewRequestsOptions {
  readonly fn: WebhookFn
  /** The common prefix of all webhook paths: empty, or with a slash at its start and none at its end. */
  readonly path: string
  readonly context: Pick<WebhookContext, 'clock' | 'logger' | 'signal'>
}

export class ReviewRequests {
  readonly #options: ReviewRequestsOptions
  readonly #active = new Set<Exchange>()
  readonly #timers: TimerQueue<Exchange>
  readonly #budget: MemoryBudget
  /** Reservations of aborted requests whose webhook function still runs. */
  readonly #abandoned: TimerQueue<MemoryReservation>
  readonly #maxBuffered: number
  /** The number of buffered bytes of all active requests. */
  #bufferedBytes = 0
  #onEmpty: (() => void) | undefined
  /** Serializes the parsing of large bodies. */
  #parseQueue: Promise<void> = Promise.resolve()

  constructor(options: ReviewRequestsOptions) {
    this.#options = options
    const { clock, signal } = options.context
    const total = defaultBudgetBytes()
    this.#budget = new MemoryBudget(total)
    this.#maxBuffered = total * bufferedShare
    this.#abandoned = new TimerQueue(clock, (reservation) => this.#budget.release(reservation), signal)
    // The timers end when the operator stops: the listener then limits the time of running requests.
    this.#timers = new TimerQueue(clock, (exchange) => this.#check(exchange), signal)
  }

  /** Never rejects, and never throws. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = createExchange(request, response)
    this.#active.add(exchange)
    // Not if the whole response is sent: no code would see the abort, and creating its error is slow.
    response.once('close', () => response.writableFinished || abortExchange(exchange, toDisconnectError()))
    response.on('error', () => {})
    try {
      await this.#send(exchange, { status: 200, text: await this.#handleUntilAborted(exchange) })
    } catch (error) {
      await this.#sendError(exchange, error)
    }
    this.#timers.cancel(exchange)
    this.#releaseMemory(exchange)
    this.#active.delete(exchange)
    if (this.#active.size === 0) this.#onEmpty?.()
  }

  /** Resolves when no request is active. */
  async settled(): Promise<void> {
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve))
  }

  #handleUntilAborted(exchange: Exchange): Promise<string> {
    return new Promise((resolve, reject) => {
      exchange.end = reject
      this.#handle(exchange).then(resolve, reject)
    })
  }

  async #handle(exchange: Exchange): Promise<string> {
    const { request } = exchange
    const { fn, path, context } = this.#options
    const { webhook, timeoutMs } = parseTarget(request, path)
    if (this.#active.size > maxActive) throw new WebhookError(503, 'too many requests at once')
    exchange.dueMs = monotonicNow(context.clock) + timeoutMs
    this.#timers.setAfter(exchange, Math.min(timeoutMs, progressIntervalMs))
    try {
      const review = await this.#read(exchange, webhook === conversionPath)
      return toJsonText(await fn(review, new RequestInfo(exchange, webhook)))
    } finally {
      // Only when the function has ended, not when the client disconnects: the function still uses the review.
      if (exchange.reservation !== undefined) this.#releaseReservation(exchange.reservation)
    }
  }

  #releaseReservation(reservation: MemoryReservation): void {
    this.#abandoned.cancel(reservation)
    this.#budget.release(reservation)
  }

  async #read(exchange: Exchange, isConversion: boolean): Promise<unknown> {
    const maxBytes = isConversion ? maxConversionBytes : maxAdmissionBytes
    const body = await readBody(exchange.request, maxBytes, (count) => this.#countBytes(exchange, count))
    await this.#reserveMemory(exchange, estimateParsedBytes(body), isConversion)
    if (body.length > largeBytes) await this.#waitForParseTurn()
    // The body of an aborted request is not parsed.
    if (exchange.abortError !== undefined) throw exchange.abortError
    this.#releaseBuffer(exchange)
    return parseReview(body)
  }

  /** Resolves when there is memory for the parsed review. The deadline of the request limits the wait. */
  async #reserveMemory(exchange: Exchange, bytes: number, isConversion: boolean): Promise<void> {
    const { maxAdmission, maxConversion } = this.#budget
    if (bytes > (isConversion ? maxConversion : maxAdmission)) {
      throw new WebhookError(
        413,
        `the parsed body would take about ${Math.ceil(bytes / mebibyte)} MiB of memory; raise the memory limit of the ` +
          'operator to review such objects',
      )
    }
    if (exchange.abortError !== undefined) throw exchange.abortError
    await new Promise<void>((resolve) => {
      exchange.reservation = this.#budget.reserve(bytes, remoteAddress(exchange), resolve)
    })
  }

  #waitForParseTurn(): Promise<void> {
    this.#parseQueue = this.#parseQueue.then(nextTurn)
    return this.#parseQueue
  }

  #countBytes(exchange: Exchange, count: number): void {
    if (exchange.abortError !== undefined) throw exchange.abortError
    exchange.received += count
    while (this.#bufferedBytes + count > this.#maxBuffered) this.#dropLargest(exchange)
    this.#bufferedBytes += count
    exchange.bytes += count
  }

  /**
   * Frees memory: rejects the request with the largest buffered body, or disconnects the client with the largest unread response. Throws if the given
   * request is the largest itself. So small reviews still succeed.
   */
  #dropLargest(exchange: Exchange): void {
    const overload = new WebhookError(503, 'too many buffered requests')
    let largest = exchange
    for (const other of this.#active) if (other.bytes > largest.bytes) largest = other
    if (largest === exchange) throw overload
    this.#releaseMemory(largest)
    if (largest.isResponding) largest.response.destroy()
    else abortExchange(largest, overload)
  }

  #releaseBuffer(exchange: Exchange): void {
    this.#bufferedBytes -= exchange.bytes
    exchange.bytes = 0
  }

  #releaseMemory(exchange: Exchange): void {
    this.#releaseBuffer(exchange)
    const { reservation } = exchange
    if (reservation === undefined) return
    if (reservation.isActive) this.#abandoned.setAfter(reservation, abandonedReservationMs)
    else this.#budget.release(reservation)
  }

  /** Aborts a request whose body is too slow at two checks, or whose deadline has passed, and disconnects a client that does not read its response. */
  #check(exchange: Exchange): void {
    const { request, response } = exchange
    const leftMs = exchange.dueMs - monotonicNow(this.#options.context.clock)
    const isSlow = !request.complete && exchange.received - exchange.receivedBefore < minProgressBytes
    if (exchange.isResponding) response.destroy()
    else if (leftMs <= 0) abortExchange(exchange, toTimeoutError(exchange))
    else if (isSlow && exchange.isSuspect) abortExchange(exchange, toSlowBodyError())
    else if (isSlow) {
      // The body may have arrived without being read while the event loop was blocked.
      exchange.isSuspect = true
      this.#timers.setAfter(exchange, Math.min(leftMs, recheckMs))
    } else {
      exchange.isSuspect = false
      exchange.receivedBefore = exchange.received
      this.#timers.setAfter(exchange, request.complete ? leftMs : Math.min(leftMs, progressIntervalMs))
    }
  }

  async #sendError(exchange: Exchange, error: unknown): Promise<void> {
    const { response } = exchange
    if (response.destroyed) return
    const { logger } = this.#options.context
    const isWebhookError = error instanceof WebhookError && isErrorStatus(error.status)
    const { status, message } = isWebhookError ? error : { status: 500, message: 'internal error' }
    // The webhook function logs the cause of an internal error.
    logger.debug(`A webhook request is rejected with ${status}: ${message}`)
    await this.#send(exchange, { status, text: toStatusText(status, message) })
  }

  /** Resolves when the response is sent. A large one counts as buffered until then, and the client must read it in time. */
  async #send(exchange: Exchange, content: WebhookResponse): Promise<void> {
    const { response } = exchange
    this.#timers.cancel(exchange)
    this.#releaseMemory(exchange)
    exchange.isResponding = true
    if (!writeResponse(exchange, content) || content.text.length <= maxUnreadBytes || response.closed) return
    exchange.bytes = content.text.length
    this.#bufferedBytes += exchange.bytes
    this.#timers.setAfter(exchange, progressIntervalMs)
    await new Promise<void>((resolve) => response.once('close', () => resolve()))
  }
}

/** Whether the status is one of an error. A `WebhookError` of a user may have any status, and Node throws for some of them. */
function isErrorStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
}

/** The API server parses JSON of at most 10,000 levels; a review adds two levels around an object. */
const maxReviewDepth = 10_002

/** Does not pass on the message of the JSON parser, which quotes the body. */
function parseReview(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  if (isDeeperThan(text, maxReviewDepth)) {
    throw new WebhookError(400, `the body has more than ${maxReviewDepth} levels, which no API server sends`)
  }
  try {
    return parseJsonText(text)
  } catch {
    throw new WebhookError(400, 'the body is not JSON')
  }
}

/** The content of the request line. */
export interface RequestTarget {
  /** The handler id: decoded, with its slashes; empty if the path has none. */
  readonly webhook: string
  /** How long the API server waits for the response. */
  readonly timeoutMs: number
}

/** The maximum `timeoutSeconds` of a webhook. The API server sends the actual timeout with each request. */
const maxTimeoutMs = 30_000

interface RequestLine {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** Parses the request line. Throws the error for the response if the request is not for a webhook. */
export function parseTarget({ method, url = '' }: RequestLine, path: string): RequestTarget {
  const [pathname = '', query = ''] = splitOnce(url, '?')
  const isKnown = pathname === path || pathname.startsWith(`${path}/`)
  if (!isKnown) throw new WebhookError(404, 'there is no webhook at this path')
  if (method !== 'POST') throw new WebhookError(405, 'webhook requests must use POST')
  return { webhook: decode(pathname.slice(path.length + 1)), timeoutMs: parseTimeout(query) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new WebhookError(400, 'the path is not correctly encoded')
  }
}

function splitOnce(text: string, separator: string): string[] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

/** Parses the query parameter `timeout`, in Go's format: `10s`, `1m0s`, `1.5s`, `500ms`. An invalid value counts as the maximum. */
function parseTimeout(query: string): number {
  // The usual format, without the slower general parser.
  const seconds = /^timeout=([1-9]|[12]\d|30)s$/.exec(query)?.[1]
  if (seconds !== undefined) return Number(seconds) * 1000
  const text = /(?:^|&)timeout=([^&]*)/.exec(query)?.[1] ?? ''
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m))+$/.test(text)) return maxTimeoutMs
  const parts = text.matchAll(/([\d.]+)(ms|s|m)/g)
  const totalMs = [...parts].reduce((sum, [, digits, unit]) => sum + Number(digits) * unitMs[unit!]!, 0)
  return totalMs > 0 ? Math.min(totalMs, maxTimeoutMs) : maxTimeoutMs
}
