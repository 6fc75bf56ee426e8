/**
 * One answer that does not end, read until it does: by itself, by an error, by our time limit, or because nothing comes
 * any more. Used by reflector.ts; knows lines and silence, nothing of what the lines say.
 */
import type { ApiCall, Session } from '../client/session.ts'
import { readWatchLines } from '../client/watch-lines.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'

export interface StreamOptions {
  readonly session: Session
  readonly clock: Clock
  readonly call: ApiCall
  /** How long nothing may come; undefined for ever. Asked again and again: what is allowed may change on the way. */
  silenceMs(): number | undefined
  /** How long it may last at all; undefined for ever. */
  readonly maxSilenceMs: number | undefined
  /** The answer has begun well. */
  begun(): void
  take(lines: readonly string[]): void
}

export type StreamEnd = 'closed' | 'silent'

/** Rejects where the stream breaks, or `take` throws; whatever happens, the connection is let go. */
export async function readStream(options: StreamOptions, signal: AbortSignal): Promise<StreamEnd> {
  signal.throwIfAborted()
  const closing = new AbortController()
  const close = () => closing.abort(signal.reason)
  signal.addEventListener('abort', close, { once: true })
  try {
    const answer = options.session.stream(options.call, closing.signal)
    // A body that does not notice the signal is left behind: it can neither hold up the next stream nor add to it.
    return await new StreamReader(options, closing.signal).finish(answer)
  } finally {
    signal.removeEventListener('abort', close)
    closing.abort()
  }
}

class StreamReader {
  readonly #options: StreamOptions
  readonly #closing: AbortSignal
  #heardAt: number

  constructor(options: StreamOptions, closing: AbortSignal) {
    this.#options = options
    this.#closing = closing
    this.#heardAt = monotonicNow(options.clock)
  }

  /** An answer that does not even begin is silent, too: so it is noticed as soon as one that has stopped. */
  finish(answer: Promise<AsyncIterable<Uint8Array>>): Promise<StreamEnd> {
    const { clock, maxSilenceMs } = this.#options
    const ends: Array<Promise<StreamEnd>> = [this.#read(answer), this.#awaitSilence(), untilAborted(this.#closing)]
    if (maxSilenceMs !== undefined) ends.push(clock.sleep(maxSilenceMs, this.#closing).then(() => 'closed'))
    return Promise.race(ends)
  }

  async #read(answer: Promise<AsyncIterable<Uint8Array>>): Promise<StreamEnd> {
    const body = await answer
    this.#closing.throwIfAborted()
    this.#heardAt = monotonicNow(this.#options.clock)
    this.#options.begun()
    for await (const lines of readWatchLines(body)) {
      if (this.#closing.aborted) break
      this.#heardAt = monotonicNow(this.#options.clock)
      this.#options.take(lines)
    }
    return 'closed'
  }

  /** One timer for many events: when it fires, it looks how long ago the last one was. */
  async #awaitSilence(): Promise<StreamEnd> {
    const { clock } = this.#options
    for (;;) {
      const limit = this.#options.silenceMs()
      if (limit === undefined) return untilAborted(this.#closing)
      const left = this.#heardAt + limit - monotonicNow(clock)
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
