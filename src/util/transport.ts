/**
 * The interface between the client and an API server: HTTP requests and responses as values. Implemented over HTTPS by client/http, and by
 * the embedded server without a socket.
 */

/** A request of the client. */
export interface TransportRequest {
  /** The HTTP method. */
  readonly method: string
  /** The path with its query, as in the first line of an HTTP request. */
  readonly path: string
  /** The headers. Names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The body. Default: none. */
  readonly body?: string | Uint8Array
  /** The request must not wait for a free connection. */
  readonly isUrgent?: boolean
  /** Throws if the request must not be sent any more. A transport that waits for a connection calls it before the first byte. */
  readonly check?: () => void
}

/** A response of the API server. */
export interface TransportResponse {
  /** The HTTP status. */
  readonly status: number
  /** The headers. Names are in lower case; repeated headers have a list. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** The body. Read it to its end or leave the loop: an open body occupies a connection. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Sends requests to an API server: the type of the option `transport`. */
export interface Transport {
  /** Resolves for any HTTP status. Rejects if the connection failed or the signal was aborted. */
  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse>
}
