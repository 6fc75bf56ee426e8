/**
 * Reads one streaming response until it ends: closed by the server, failed, ended by the client timeout, or silent for too long.
 * Splits it into lines and does not interpret them. Used by reflector.ts.
 */
import type { ApiCall, Session } from '../client/session.ts'
import { readWatchLines } from '../client/watch-lines.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'

export interface StreamOptions {
  readonly session: Session
  readonly clock: Clock
  readonly call: ApiCall
  /** The maximum time without data; undefined for no limit. Called repeatedly, because the limit differs during the initial list. */
  silenceMs(): number | undefined
  /** The maximum duration of the stream; undefined for no limit. */
  readonly maxDurationMs: number | undefined
  /** Called when the response has begun with a success status. */
  onBegin(): void
  take(lines: readonly string[]): void
  /** Called when data has arrived, before `take`. */
  onData?(): void
}

export type StreamEnd = 'closed' | 'silent'

/** Rejects if the stream fails or `take` throws. The connection is closed in all cases. */
export async function readStream(options: StreamOptions, signal: AbortSignal): Promise<StreamEnd> {
  signal.throwIfAborted()
  const closing = new AbortController()
  const close = () => closing.abort(signal.reason)
  signal.addEventListener('abort', close, { once: true })
  try {
    const response = options.session.stream(options.call, closing.signal)
    // A body that ignores the signal is abandoned: it can neither delay the next stream nor deliver lines to it.
    return await new StreamReader(options, closing.signal).finish(response)
  } finally {
    signal.removeEventListener('abort', close)
    closing.abort()
  }
}

class StreamReader {
  readonly #options: StreamOptions
  readonly #closing: AbortSignal
  #lastDataAt: number

  constructor(options: StreamOptions, closing: AbortSignal) {
    this.#options = options
    this.#closing = closing
    this.#lastDataAt = monotonicNow(options.clock)
  }

  /** Resolves at the first end condition. A response that does not begin also counts as silent. */
  finish(response: Promise<AsyncIterable<Uint8Array>>): Promise<StreamEnd> {
    const { clock, maxDurationMs } = this.#options
    const ends: Array<Promise<StreamEnd>> = [this.#read(response), this.#awaitSilence(), untilAborted(this.#closing)]
    if (maxDurationMs !== undefined) ends.push(clock.sleep(maxDurationMs, this.#closing).then(() => 'closed'))
    return Promise.race(ends)
  }

  async #read(response: Promise<AsyncIterable<Uint8Array>>): Promise<StreamEnd> {
    const body = await response
    this.#closing.throwIfAborted()
    this.#lastDataAt = monotonicNow(this.#options.clock)
    this.#options.onBegin()
    for await (const lines of readWatchLines(body)) {
      if (this.#closing.aborted) break
      this.#lastDataAt = monotonicNow(this.#options.clock)
      this.#options.onData?.()
      this.#options.take(lines)
    }
    return 'closed'
  }

  /** Uses one timer for many events: when it fires, it checks the time of the last event. */
  async #awaitSilence(): Promise<StreamEnd> {
    const { clock } = this.#options
    for (;;) {
      const limit = this.#options.silenceMs()
      if (limit === undefined) return untilAborted(this.#closing)
      const left = this.#lastDataAt + limit - monotonicNow(clock)
      if (left <= 0) return 'silent'
      await clock.sleep(left, this.#closing)
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
