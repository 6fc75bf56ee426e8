/**
 * A request and its answer as plain values, and the one function between them. Over HTTPS in production;
 * the embedded server's own function in tests, with no socket between.
 */

export interface TransportRequest {
  readonly method: string
  /** The path with its query, as it stands in the first line of an HTTP request. */
  readonly path: string
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Not to wait until others are done. */
  readonly isUrgent?: boolean
  /** Throws where it is too late for it. Whoever has to wait for a connection asks once more before the first byte is sent. */
  readonly check?: () => void
}

export interface TransportResponse {
  readonly status: number
  /** Names in lower case; a list where a header came several times. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Must be read to its end or returned from: an open body holds a connection. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface Transport {
  /** Rejects only where there is no answer: the connection failed, or the signal was aborted. */
  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse>
}
