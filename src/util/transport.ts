/**
 * The interface between the client and an API server: HTTP requests and responses as values. Implemented over HTTPS by client/http, and by
 * the embedded server without a socket.
 */

export interface TransportRequest {
  readonly method: string
  /** The path with its query, as in the first line of an HTTP request. */
  readonly path: string
  /** Header names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The request must not wait for a free connection. */
  readonly isUrgent?: boolean
  /** Throws if the request must not be sent any more. A transport that waits for a connection calls it before the first byte. */
  readonly check?: () => void
}

export interface TransportResponse {
  readonly status: number
  /** Header names are in lower case; repeated headers have a list. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Must be read to its end, or the loop left: an open body occupies a connection. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface Transport {
  /** Resolves for any HTTP status. Rejects if the connection failed or the signal was aborted. */
  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse>
}
