/**
 * One request to a webhook, from its head to the answer: who is meant, the body, the function that answers, the time there
 * is for it. Called by listener.ts for every request; knows nothing of what a review says. Whatever goes wrong with one
 * request is its own answer. Neither headers nor bodies nor paths are logged: all of them may hold secrets.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SslPeer, WebhookContext, WebhookFn, WebhookRequestInfo } from '../core/webhook-server.ts'
import { WebhookError } from '../errors.ts'
import { Alarms } from '../util/alarms.ts'
import { nextTurn } from '../util/clock.ts'
import { parseJsonText, toJsonText } from '../util/json-text.ts'
import { readBody } from './body.ts'
import { parseTarget } from './request-target.ts'
import { readSslPeer } from './ssl-peer.ts'

/** More than two objects of the most that etcd keeps, at twice their size. */
const mostBytes = 8 * 1024 * 1024
/** Of all requests together: who sends many large ones at once must not use up the memory. */
const mostBytesAtOnce = 128 * 1024 * 1024
const mostAtOnce = 4096
/** What takes milliseconds to parse: of such, one at a time, and others in between. */
const largeBytes = 128 * 1024

interface Answer {
  readonly status: number
  readonly text: string
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Why nobody waits for the answer any more; what would be answered. */
  gone: WebhookError | undefined
  /** Aborted for that reason. Made for those who ask for it: it is dear. */
  leaving: AbortController | undefined
  /** How much of the body is kept. */
  bytes: number
  /** Nothing more is waited for; a listener of the signal would do, and take ten times as long to add. */
  end: (error: WebhookError) => void
}

export interface ReviewsOptions {
  readonly fn: WebhookFn
  /** What the paths of all webhooks begin with: empty, or with a slash at its beginning and none at its end. */
  readonly path: string
  readonly context: Pick<WebhookContext, 'clock' | 'logger' | 'signal'>
}

export class Reviews {
  readonly #options: ReviewsOptions
  readonly #underWay = new Set<Exchange>()
  readonly #deadlines: Alarms<Exchange>
  /** The sum over `#underWay`. */
  #bytes = 0
  #onEmpty: (() => void) | undefined
  /** The turns of large bodies, one after the other. */
  #turns: Promise<void> = Promise.resolve()

  constructor(options: ReviewsOptions) {
    this.#options = options
    const { clock, signal } = options.context
    // When the operator stops, there is another limit: that of the listener.
    this.#deadlines = new Alarms(clock, (exchange) => giveUp(exchange, late(exchange)), signal)
  }

  /** Never rejects, and never throws. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange: Exchange = { request, response, gone: undefined, leaving: undefined, bytes: 0, end: () => {} }
    this.#underWay.add(exchange)
    // Not where all is sent: nobody would hear of it, and making the reason is dear.
    response.once('close', () => response.writableFinished || giveUp(exchange, hungUp()))
    response.on('error', () => {})
    try {
      send(exchange, { status: 200, text: await this.#answerOrEnd(exchange) })
    } catch (error) {
      this.#refuse(exchange, error)
    }
    this.#deadlines.cancel(exchange)
    this.#bytes -= exchange.bytes
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
    const { fn, path } = this.#options
    const { webhook, timeoutMs } = parseTarget(request, path)
    if (this.#underWay.size > mostAtOnce) throw new WebhookError(503, 'too many requests at once')
    this.#deadlines.setAfter(exchange, timeoutMs)
    const body = await readBody(request, mostBytes, (count) => this.#keep(exchange, count))
    if (body.length > largeBytes) await this.#takeTurn()
    // What is done for nobody must not be done at all.
    if (exchange.gone !== undefined) throw exchange.gone
    return toJsonText(await fn(parseReview(body), new RequestInfo(exchange, webhook)))
  }

  #takeTurn(): Promise<void> {
    this.#turns = this.#turns.then(nextTurn)
    return this.#turns
  }

  #keep(exchange: Exchange, count: number): void {
    if (this.#bytes + count > mostBytesAtOnce) throw new WebhookError(503, 'too much at once')
    // Who is gone is not counted any more.
    if (exchange.gone !== undefined) return
    this.#bytes += count
    exchange.bytes += count
  }

  #refuse(exchange: Exchange, error: unknown): void {
    const { response } = exchange
    if (response.destroyed) return
    const { logger } = this.#options.context
    const isOurs = error instanceof WebhookError && isRefusal(error.status)
    const { status, message } = isOurs ? error : { status: 500, message: 'internal error' }
    // Why a review has failed is logged by who was to answer it.
    logger.debug(`A request to a webhook is refused with ${status}: ${message}`)
    send(exchange, { status, text: toStatusText(status, message) })
  }
}

/** A class, so that there is one getter for all: with one of its own, each would live on until the heap is swept. */
class RequestInfo implements WebhookRequestInfo {
  readonly webhook: string
  readonly headers: Readonly<Record<string, string>>
  readonly sslpeer: SslPeer | undefined
  readonly #exchange: Exchange

  constructor(exchange: Exchange, webhook: string) {
    const { request } = exchange
    this.webhook = webhook
    this.headers = toHeaders(request)
    this.sslpeer = readSslPeer(request.socket)
    this.#exchange = exchange
  }

  get signal(): AbortSignal {
    const exchange = this.#exchange
    exchange.leaving ??= new AbortController()
    if (exchange.gone !== undefined) exchange.leaving.abort(exchange.gone)
    return exchange.leaving.signal
  }
}

/** Whatever the function answers later goes nowhere. */
function giveUp(exchange: Exchange, error: WebhookError): void {
  exchange.gone ??= error
  exchange.end(error)
  exchange.leaving?.abort(error)
}

function late({ request }: Exchange): WebhookError {
  return request.complete
    ? new WebhookError(504, 'no answer in time')
    : new WebhookError(408, 'the body has not come in time')
}

function hungUp(): WebhookError {
  return new WebhookError(400, 'the client has hung up')
}

/** With another, no answer could be written. */
function isRefusal(status: unknown): boolean {
  return Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599
}

/** Node joins those of one name, but for one kind, which no API server sends. */
function toHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'set-cookie': cookies } = headers
  return (cookies === undefined ? headers : { ...headers, 'set-cookie': cookies.join(', ') }) as Record<string, string>
}

/** The words of the parser are not passed on: they quote the body. */
function parseReview(bytes: Buffer): unknown {
  try {
    return parseJsonText(bytes.toString('utf8'))
  } catch {
    throw new WebhookError(400, 'the body is not JSON')
  }
}

/** As the API answers: its servers show the message to whoever made the request that the review was about. */
function toStatusText(code: number, message: string): string {
  return toJsonText({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code })
}

function send({ request, response }: Exchange, { status, text }: Answer): void {
  if (response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(status === 405 ? { allow: 'POST' } : {}),
    // What does not come in time is not waited for.
    ...(status === 408 ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}
