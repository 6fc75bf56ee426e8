/**
 * One request to a webhook, from its head to the answer: who is meant, the body, the function that answers, the time there
 * is for it. Called by listener.ts for every request; knows nothing of what a review says. Whatever goes wrong with one
 * request is its own answer. Neither headers nor bodies nor paths are logged: all of them may hold secrets.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebhookContext, WebhookFn } from '../core/webhook-server.ts'
import { WebhookError } from '../errors.ts'
import { conversionPath } from '../kube/reviews.ts'
import { Alarms } from '../util/alarms.ts'
import { monotonicOf, nextTurn } from '../util/clock.ts'
import { isDeeperThan } from '../util/json-depth.ts'
import { parseJsonText, toJsonText } from '../util/json-text.ts'
import { estimateParsedBytes } from '../util/parsed-size.ts'
import { readBody } from './body.ts'
import {
  type Answer,
  addressOf,
  type Exchange,
  giveUp,
  hungUp,
  late,
  RequestInfo,
  toExchange,
  tooSlow,
  toStatusText,
  writeAnswer,
} from './exchange.ts'
import { budgetOfHeap, type Claim, MemoryBudget } from './memory-budget.ts'
import { parseTarget } from './request-target.ts'

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
const maxAtOnce = 4096
/** Bodies that take milliseconds to parse: of such, one at a time, and others in between. */
const largeBytes = 128 * 1024
/** How often the progress of a body, or of an answer, is looked at, and how many bytes of a body must have come by then. */
const progressMs = 5000
const minProgressBytes = (16 * 1024 * progressMs) / 1000
/** A body that seems slow gets another look after so long. */
const secondLookMs = 1000
/** A function that does not end keeps its review for ever. After so long it does not count, or no review would be read any more. */
const lingerMs = 60_000
/** Larger answers may be too much for the buffers of the system: a client that does not read them is cut off. */
const maxUnreadBytes = 4096

export interface ReviewsOptions {
  readonly fn: WebhookFn
  /** What the paths of all webhooks begin with: empty, or with a slash at its beginning and none at its end. */
  readonly path: string
  readonly context: Pick<WebhookContext, 'clock' | 'logger' | 'signal'>
}

export class Reviews {
  readonly #options: ReviewsOptions
  readonly #underWay = new Set<Exchange>()
  readonly #alarms: Alarms<Exchange>
  readonly #budget: MemoryBudget
  /** Claims of reviews that are given up, while the function is still at work on them. */
  readonly #lingering: Alarms<Claim>
  readonly #maxBuffered: number
  /** The sum over `#underWay`. */
  #bytes = 0
  #onEmpty: (() => void) | undefined
  /** The turns of large bodies, one after the other. */
  #turns: Promise<void> = Promise.resolve()

  constructor(options: ReviewsOptions) {
    this.#options = options
    const { clock, signal } = options.context
    const total = budgetOfHeap()
    this.#budget = new MemoryBudget(total)
    this.#maxBuffered = total * bufferedShare
    this.#lingering = new Alarms(clock, (claim) => this.#budget.release(claim), signal)
    // When the operator stops, there is another limit: that of the listener.
    this.#alarms = new Alarms(clock, (exchange) => this.#check(exchange), signal)
  }

  /** Never rejects, and never throws. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = toExchange(request, response)
    this.#underWay.add(exchange)
    // Not where all is sent: nobody would hear of it, and making the reason is dear.
    response.once('close', () => response.writableFinished || giveUp(exchange, hungUp()))
    response.on('error', () => {})
    try {
      await this.#send(exchange, { status: 200, text: await this.#answerOrEnd(exchange) })
    } catch (error) {
      await this.#refuse(exchange, error)
    }
    this.#alarms.cancel(exchange)
    this.#forget(exchange)
    this.#underWay.delete(exchange)
    if (this.#underWay.size === 0) this.#onEmpty?.()
  }

  /** Resolves when all that is under way is answered. */
  async settled(): Promise<void> {
    if (this.#underWay.size > 0) await new Promise<void>((resolve) => (this.#onEmpty = resolve))
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
    if (this.#underWay.size > maxAtOnce) throw new WebhookError(503, 'too many requests at once')
    exchange.dueMs = monotonicOf(context.clock) + timeoutMs
    this.#alarms.setAfter(exchange, Math.min(timeoutMs, progressMs))
    try {
      const review = await this.#read(exchange, webhook === conversionPath)
      return toJsonText(await fn(review, new RequestInfo(exchange, webhook)))
    } finally {
      // Not when the client hangs up: the function goes on with the review.
      if (exchange.claim !== undefined) this.#release(exchange.claim)
    }
  }

  #release(claim: Claim): void {
    this.#lingering.cancel(claim)
    this.#budget.release(claim)
  }

  async #read(exchange: Exchange, isConversion: boolean): Promise<unknown> {
    const maxBytes = isConversion ? maxConversionBytes : maxAdmissionBytes
    const body = await readBody(exchange.request, maxBytes, (count) => this.#keep(exchange, count))
    await this.#admit(exchange, estimateParsedBytes(body), isConversion)
    if (body.length > largeBytes) await this.#takeTurn()
    // What is done for nobody must not be done at all.
    if (exchange.gone !== undefined) throw exchange.gone
    this.#forgetText(exchange)
    return parseReview(body)
  }

  /** Resolves when there is memory for the parsed review. The deadline of the request ends the waiting. */
  async #admit(exchange: Exchange, bytes: number, isConversion: boolean): Promise<void> {
    const { maxAdmission, maxConversion } = this.#budget
    if (bytes > (isConversion ? maxConversion : maxAdmission)) {
      throw new WebhookError(
        413,
        `the body would take about ${Math.ceil(bytes / mebibyte)} MiB of memory once it is parsed; raise the memory limit of the ` +
          'operator where such objects are to be reviewed',
      )
    }
    if (exchange.gone !== undefined) throw exchange.gone
    await new Promise<void>((resolve) => {
      exchange.claim = this.#budget.claim(bytes, addressOf(exchange), resolve)
    })
  }

  #takeTurn(): Promise<void> {
    this.#turns = this.#turns.then(nextTurn)
    return this.#turns
  }

  #keep(exchange: Exchange, count: number): void {
    if (exchange.gone !== undefined) throw exchange.gone
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
    for (const one of this.#underWay) if (one.bytes > largest.bytes) largest = one
    if (largest === exchange) throw tooMuch
    this.#forget(largest)
    if (largest.isAnswered) largest.response.destroy()
    else giveUp(largest, tooMuch)
  }

  #forgetText(exchange: Exchange): void {
    this.#bytes -= exchange.bytes
    exchange.bytes = 0
  }

  #forget(exchange: Exchange): void {
    this.#forgetText(exchange)
    const { claim } = exchange
    if (claim === undefined) return
    if (claim.isGranted) this.#lingering.setAfter(claim, lingerMs)
    else this.#budget.release(claim)
  }

  /** Whether the client is fast enough, and whether the time is up. */
  #check(exchange: Exchange): void {
    const { request, response } = exchange
    const leftMs = exchange.dueMs - monotonicOf(this.#options.context.clock)
    const isSlow = !request.complete && exchange.received - exchange.receivedBefore < minProgressBytes
    if (exchange.isAnswered) response.destroy()
    else if (leftMs <= 0) giveUp(exchange, late(exchange))
    else if (isSlow && exchange.isSuspect) giveUp(exchange, tooSlow())
    else if (isSlow) {
      // If this process was busy, the body may have come and not been read.
      exchange.isSuspect = true
      this.#alarms.setAfter(exchange, Math.min(leftMs, secondLookMs))
    } else {
      exchange.isSuspect = false
      exchange.receivedBefore = exchange.received
      this.#alarms.setAfter(exchange, request.complete ? leftMs : Math.min(leftMs, progressMs))
    }
  }

  async #refuse(exchange: Exchange, error: unknown): Promise<void> {
    const { response } = exchange
    if (response.destroyed) return
    const { logger } = this.#options.context
    const isOurs = error instanceof WebhookError && isRefusal(error.status)
    const { status, message } = isOurs ? error : { status: 500, message: 'internal error' }
    // Why a review has failed is logged by who was to answer it.
    logger.debug(`A request to a webhook is refused with ${status}: ${message}`)
    await this.#send(exchange, { status, text: toStatusText(status, message) })
  }

  /** Resolves when the answer is sent. A large one counts as kept until then, and must be read in time. */
  async #send(exchange: Exchange, answer: Answer): Promise<void> {
    const { response } = exchange
    this.#alarms.cancel(exchange)
    this.#forget(exchange)
    exchange.isAnswered = true
    if (!writeAnswer(exchange, answer) || answer.text.length <= maxUnreadBytes || response.closed) return
    exchange.bytes = answer.text.length
    this.#bytes += exchange.bytes
    this.#alarms.setAfter(exchange, progressMs)
    await new Promise<void>((resolve) => response.once('close', () => resolve()))
  }
}

/** With another, no answer could be written. */
function isRefusal(status: unknown): boolean {
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
