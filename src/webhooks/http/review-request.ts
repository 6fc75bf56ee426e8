/**
 * One request to a webhook, from its head to the answer: who is meant, the body, the function that answers, the time there
 * is for it. Called by listener.ts for every request; knows nothing of what a review says. Whatever goes wrong with one
 * request is its own answer. Neither headers nor bodies nor paths are logged: all of them may hold secrets.
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
  type WebhookAnswer,
  writeAnswer,
} from './exchange.ts'
import { defaultBudgetBytes, MemoryBudget, type MemoryClaim } from './memory-budget.ts'

const mebibyte = 1024 * 1024
/**
 * API servers take requests of 3 MiB, so that is the most that an object has in a review, together with its former state; the
 * rest is for the user, the options and what else is around the objects. What etcd stores is half of that by default.
 */
const maxAdmissionBytes = 2 * 3 * mebibyte + 256 * 1024
/** A conversion review may have all objects of a list. Their number and size have no limit but the memory there is for them. */
const maxConversionBytes = 16 * mebibyte
/** The share of the memory budget that bodies may take before they are parsed: outside of the heap, and beside it. */
const bufferedShare = 1 / 2
const maxActive = 4096
/** Bodies that take milliseconds to parse: of such, one at a time, and others in between. */
const largeBytes = 128 * 1024
/** How often the progress of a body, or of an answer, is looked at, and how many bytes of a body must have come by then. */
const progressIntervalMs = 5000
const minProgressBytes = (16 * 1024 * progressIntervalMs) / 1000
/** A body that seems slow gets another look after so long. */
const recheckMs = 1000
/** A function that does not end keeps its review for ever. After so long it does not count, or no review would be read any more. */
const abandonedClaimMs = 60_000
/** Larger answers may be too much for the buffers of the system: a client that does not read them is cut off. */
const maxUnreadBytes = 4096

export interface ReviewRequestsOptions {
  readonly fn: WebhookFn
  /** What the paths of all webhooks begin with: empty, or with a slash at its beginning and none at its end. */
  readonly path: string
  readonly context: Pick<WebhookContext, 'clock' | 'logger' | 'signal'>
}

export class ReviewRequests {
  readonly #options: ReviewRequestsOptions
  readonly #active = new Set<Exchange>()
  readonly #timers: TimerQueue<Exchange>
  readonly #budget: MemoryBudget
  /** Claims of reviews that are given up, while the function is still at work on them. */
  readonly #abandoned: TimerQueue<MemoryClaim>
  readonly #maxBuffered: number
  /** The sum over `#underWay`. */
  #bytes = 0
  #onEmpty: (() => void) | undefined
  /** The turns of large bodies, one after the other. */
  #parseQueue: Promise<void> = Promise.resolve()

  constructor(options: ReviewRequestsOptions) {
    this.#options = options
    const { clock, signal } = options.context
    const total = defaultBudgetBytes()
    this.#budget = new MemoryBudget(total)
    this.#maxBuffered = total * bufferedShare
    this.#abandoned = new TimerQueue(clock, (claim) => this.#budget.release(claim), signal)
    // When the operator stops, there is another limit: that of the listener.
    this.#timers = new TimerQueue(clock, (exchange) => this.#check(exchange), signal)
  }

  /** Never rejects, and never throws. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = createExchange(request, response)
    this.#active.add(exchange)
    // Not where all is sent: nobody would hear of it, and making the reason is dear.
    response.once('close', () => response.writableFinished || abortExchange(exchange, toDisconnectError()))
    response.on('error', () => {})
    try {
      await this.#send(exchange, { status: 200, text: await this.#answerOrEnd(exchange) })
    } catch (error) {
      await this.#sendError(exchange, error)
    }
    this.#timers.cancel(exchange)
    this.#releaseMemory(exchange)
    this.#active.delete(exchange)
    if (this.#active.size === 0) this.#onEmpty?.()
  }

  /** Resolves when all that is under way is answered. */
  async settled(): Promise<void> {
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve))
  }

  #answerOrEnd(exchange: Exchange): Promise<string> {
    return new Promise((resolve, reject) => {
      exchange.end = reject
      this.#answer(exchange).then(resolve, reject)
    })
  }

  async #answer(exchange: Exchange): Promise<string> {
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
      // Not when the client hangs up: the function goes on with the review.
      if (exchange.claim !== undefined) this.#releaseClaim(exchange.claim)
    }
  }

  #releaseClaim(claim: MemoryClaim): void {
    this.#abandoned.cancel(claim)
    this.#budget.release(claim)
  }

  async #read(exchange: Exchange, isConversion: boolean): Promise<unknown> {
    const maxBytes = isConversion ? maxConversionBytes : maxAdmissionBytes
    const body = await readBody(exchange.request, maxBytes, (count) => this.#countBytes(exchange, count))
    await this.#reserveMemory(exchange, estimateParsedBytes(body), isConversion)
    if (body.length > largeBytes) await this.#waitForParseTurn()
    // What is done for nobody must not be done at all.
    if (exchange.abortError !== undefined) throw exchange.abortError
    this.#releaseBuffer(exchange)
    return parseReview(body)
  }

  /** Resolves when there is memory for the parsed review. The deadline of the request ends the waiting. */
  async #reserveMemory(exchange: Exchange, bytes: number, isConversion: boolean): Promise<void> {
    const { maxAdmission, maxConversion } = this.#budget
    if (bytes > (isConversion ? maxConversion : maxAdmission)) {
      throw new WebhookError(
        413,
        `the body would take about ${Math.ceil(bytes / mebibyte)} MiB of memory once it is parsed; raise the memory limit of the ` +
          'operator where such objects are to be reviewed',
      )
    }
    if (exchange.abortError !== undefined) throw exchange.abortError
    await new Promise<void>((resolve) => {
      exchange.claim = this.#budget.claim(bytes, remoteAddress(exchange), resolve)
    })
  }

  #waitForParseTurn(): Promise<void> {
    this.#parseQueue = this.#parseQueue.then(nextTurn)
    return this.#parseQueue
  }

  #countBytes(exchange: Exchange, count: number): void {
    if (exchange.abortError !== undefined) throw exchange.abortError
    exchange.received += count
    while (this.#bytes + count > this.#maxBuffered) this.#dropLargest(exchange)
    this.#bytes += count
    exchange.bytes += count
  }

  /**
   * Makes room: the largest body that is not complete or waits for memory is refused, or the largest answer that is not read is cut
   * off. Where the body at hand is the largest, it is refused itself. So small reviews get through.
   */
  #dropLargest(exchange: Exchange): void {
    const tooMuch = new WebhookError(503, 'too much at once')
    let largest = exchange
    for (const one of this.#active) if (one.bytes > largest.bytes) largest = one
    if (largest === exchange) throw tooMuch
    this.#releaseMemory(largest)
    if (largest.isAnswered) largest.response.destroy()
    else abortExchange(largest, tooMuch)
  }

  #releaseBuffer(exchange: Exchange): void {
    this.#bytes -= exchange.bytes
    exchange.bytes = 0
  }

  #releaseMemory(exchange: Exchange): void {
    this.#releaseBuffer(exchange)
    const { claim } = exchange
    if (claim === undefined) return
    if (claim.isGranted) this.#abandoned.setAfter(claim, abandonedClaimMs)
    else this.#budget.release(claim)
  }

  /** Whether the client is fast enough, and whether the time is up. */
  #check(exchange: Exchange): void {
    const { request, response } = exchange
    const leftMs = exchange.dueMs - monotonicNow(this.#options.context.clock)
    const isSlow = !request.complete && exchange.received - exchange.receivedBefore < minProgressBytes
    if (exchange.isAnswered) response.destroy()
    else if (leftMs <= 0) abortExchange(exchange, toTimeoutError(exchange))
    else if (isSlow && exchange.isSuspect) abortExchange(exchange, toSlowBodyError())
    else if (isSlow) {
      // If this process was busy, the body may have come and not been read.
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
    // Why a review has failed is logged by who was to answer it.
    logger.debug(`A request to a webhook is refused with ${status}: ${message}`)
    await this.#send(exchange, { status, text: toStatusText(status, message) })
  }

  /** Resolves when the answer is sent. A large one counts as kept until then, and must be read in time. */
  async #send(exchange: Exchange, answer: WebhookAnswer): Promise<void> {
    const { response } = exchange
    this.#timers.cancel(exchange)
    this.#releaseMemory(exchange)
    exchange.isAnswered = true
    if (!writeAnswer(exchange, answer) || answer.text.length <= maxUnreadBytes || response.closed) return
    exchange.bytes = answer.text.length
    this.#bytes += exchange.bytes
    this.#timers.setAfter(exchange, progressIntervalMs)
    await new Promise<void>((resolve) => response.once('close', () => resolve()))
  }
}

/** With another, no answer could be written. */
function isErrorStatus(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
}

/** The API server reads JSON of at most 10,000 levels; a review puts two more around an object. */
const maxReviewDepth = 10_002

/** The words of the parser are not passed on: they quote the body. */
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

/** What the first line of a request says: which handler is meant, and how long its answer is waited for. Pure. */

export interface RequestTarget {
  /** The id of the handler: decoded, with its slashes; empty where the path ends before it. */
  readonly webhook: string
  readonly timeoutMs: number
}

/** The longest that an API server waits for a webhook; it says in each request how long that is. */
const maxTimeoutMs = 30_000

interface FirstLine {
  readonly method?: string | undefined
  readonly url?: string | undefined
}

/** Throws what to answer where the request is none for a webhook. */
export function parseTarget({ method, url = '' }: FirstLine, path: string): RequestTarget {
  const [pathname = '', query = ''] = splitOnce(url, '?')
  const isKnown = pathname === path || pathname.startsWith(`${path}/`)
  if (!isKnown) throw new WebhookError(404, 'there is no webhook at this path')
  if (method !== 'POST') throw new WebhookError(405, 'webhooks are asked with POST')
  return { webhook: decode(pathname.slice(path.length + 1)), timeoutMs: parseTimeout(query) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new WebhookError(400, 'the path is not well encoded')
  }
}

function splitOnce(text: string, separator: string): string[] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

/** As Go writes durations: `10s`, `1m0s`, `1.5s`, `500ms`. Whatever else it is, the longest will do. */
function parseTimeout(query: string): number {
  // What API servers write, all day long.
  const seconds = /^timeout=([1-9]|[12]\d|30)s$/.exec(query)?.[1]
  if (seconds !== undefined) return Number(seconds) * 1000
  const text = /(?:^|&)timeout=([^&]*)/.exec(query)?.[1] ?? ''
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m))+$/.test(text)) return maxTimeoutMs
  const parts = text.matchAll(/([\d.]+)(ms|s|m)/g)
  const totalMs = [...parts].reduce((sum, [, digits, unit]) => sum + Number(digits) * unitMs[unit!]!, 0)
  return totalMs > 0 ? Math.min(totalMs, maxTimeoutMs) : maxTimeoutMs
}
