/** One webhook request and its response: the state that the steps of review-request.ts share, and the HTTP details. Enforces no limits. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { WebhookError } from '../../errors.ts'
import type { SslPeer, WebhookRequestInfo } from '../../settings/webhook-server.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { readSslPeer } from './body.ts'
import type { MemoryReservation } from './memory-budget.ts'

export interface WebhookResponse {
  readonly status: number
  readonly text: string
}

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Why the request was aborted. It is also the error of the response, if the client is still connected. */
  abortError: WebhookError | undefined
  /** Aborted with `abortError`. Created on first use: creating one is slow. */
  controller: AbortController | undefined
  /** The number of buffered bytes of the body, or of the response. */
  bytes: number
  /** The number of received bytes of the body. */
  received: number
  /** `received` at the last check of the progress. */
  receivedBefore: number
  /** Whether the body was too slow at the last check. */
  isSuspect: boolean
  /** The deadline of the response, by the monotonic clock. */
  dueMs: number
  /** The memory of the parsed review. */
  reservation: MemoryReservation | undefined
  /** The response is being sent. */
  isResponding: boolean
  /** Rejects the handling of the request. A callback, since adding a listener to a signal is ten times slower. */
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
    reservation: undefined,
    isResponding: false,
    end: () => {},
  }
}

export function remoteAddress({ request }: Exchange): string {
  return request.socket.remoteAddress ?? ''
}

/** Aborts the handling. A later result of the webhook function is dropped. */
export function abortExchange(exchange: Exchange, error: WebhookError): void {
  exchange.abortError ??= error
  exchange.end(error)
  exchange.controller?.abort(error)
}

export function toTimeoutError({ request }: Exchange): WebhookError {
  return request.complete
    ? new WebhookError(504, 'no response in time')
    : new WebhookError(408, 'the body was not received in time')
}

export function toSlowBodyError(): WebhookError {
  return new WebhookError(408, 'the body is sent too slowly')
}

export function toDisconnectError(): WebhookError {
  return new WebhookError(400, 'the client has disconnected')
}

/** A class, so that all instances share the getter: a closure per request would keep the request in memory until a full garbage collection. */
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

/** Node joins headers of the same name, except `set-cookie`, which it passes as a list. */
function toHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'set-cookie': cookies } = headers
  return (cookies === undefined ? headers : { ...headers, 'set-cookie': cookies.join(', ') }) as Record<string, string>
}

/** The body of an error response: a Status, whose message the API server shows to its user. */
export function toStatusText(code: number, message: string): string {
  return toJsonText({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code })
}

/** Sends the response. Returns false if the connection is closed. */
export function writeResponse({ request, response }: Exchange, { status, text }: WebhookResponse): boolean {
  if (response.destroyed) return false
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(status === 405 ? { allow: 'POST' } : {}),
    // The rest of a slow body is not read, so the connection cannot be reused.
    ...(status === 408 ? { connection: 'close' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
  return true
}
