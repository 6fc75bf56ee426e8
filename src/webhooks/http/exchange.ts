/**
 * One request to a webhook while it is under way, and what is answered to it: shared by the steps of reviews.ts. Knows HTTP, and
 * nothing of limits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebhookError } from '../../errors.ts'
import type { SslPeer, WebhookRequestInfo } from '../../settings/webhook-server.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { readSslPeer } from './body.ts'
import type { MemoryClaim } from './memory-budget.ts'

export interface WebhookAnswer {
  readonly status: number
  readonly text: string
}

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Why the client does not wait for the answer any more; what would be answered. */
  abortError: WebhookError | undefined
  /** Aborted for that reason. Made for those who ask for it: it is dear. */
  controller: AbortController | undefined
  /** How much of the body, or of the answer, is kept. */
  bytes: number
  /** How much of the body has come, and had come when its progress was last looked at. */
  received: number
  receivedBefore: number
  /** Whether too little had come when it was last looked at. */
  isSuspect: boolean
  /** By the monotonic clock: when the time for the answer is up. */
  dueMs: number
  /** What the parsed review takes of the memory budget. */
  claim: MemoryClaim | undefined
  isAnswered: boolean
  /** Nothing more is waited for; a listener of the signal would do, and take ten times as long to add. */
  end: (error: WebhookError) => void
}

export function createExchange(request: IncomingMessage, response: ServerResponse): Exchange {
  return {
    request,
    response,
    abortError: undefined,
    controller: undefined,
    bytes: 0,
    received: 0,
    receivedBefore: 0,
    isSuspect: false,
    dueMs: Number.POSITIVE_INFINITY,
    claim: undefined,
    isAnswered: false,
    end: () => {},
  }
}

export function remoteAddress({ request }: Exchange): string {
  return request.socket.remoteAddress ?? ''
}

/** A later answer of the function is dropped. */
export function abortExchange(exchange: Exchange, error: WebhookError): void {
  exchange.abortError ??= error
  exchange.end(error)
  exchange.controller?.abort(error)
}

export function toTimeoutError({ request }: Exchange): WebhookError {
  return request.complete
    ? new WebhookError(504, 'no answer in time')
    : new WebhookError(408, 'the body has not come in time')
}

export function toSlowBodyError(): WebhookError {
  return new WebhookError(408, 'the body comes too slowly')
}

export function toDisconnectError(): WebhookError {
  return new WebhookError(400, 'the client has hung up')
}

/** A class, so that there is one getter for all: with one of its own, each would live on until the heap is swept. */
export class RequestInfo implements WebhookRequestInfo {
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
    exchange.controller ??= new AbortController()
    if (exchange.abortError !== undefined) exchange.controller.abort(exchange.abortError)
    return exchange.controller.signal
  }
}

/** Node joins those of one name, but for one kind, which no API server sends. */
function toHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'set-cookie': cookies } = headers
  return (cookies === undefined ? headers : { ...headers, 'set-cookie': cookies.join(', ') }) as Record<string, string>
}

/** As the API answers: API servers show the message to the user whose request was reviewed. */
export function toStatusText(code: number, message: string): string {
  return toJsonText({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code })
}

/** Whether there is still a connection to send it on. */
export function writeAnswer({ request, response }: Exchange, { status, text }: WebhookAnswer): boolean {
  if (response.destroyed) return false
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(status === 405 ? { allow: 'POST' } : {}),
    // What does not come in time is not waited for.
    ...(status === 408 ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
  return true
}
