/** The body of an HTTP response as an async iterator. Created by transport.ts, read by session.ts. */
import type { IncomingMessage } from 'node:http'
import { connectionClosedError } from '../connection-error.ts'

/** The response is paused while this many chunks are unread. */
const maxBufferedChunks = 16

interface BodyReader {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/**
 * Yields the chunks as they arrive; `return` closes the connection if the body is not read to its end. Much cheaper than the iterator of
 * Node's streams, which matters with about three responses per handled object.
 */
export class ResponseBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #response: IncomingMessage
  readonly #chunks: Uint8Array[] = []
  /** The pending `next`; defined only while there is no unread chunk. */
  #reader: BodyReader | undefined
  #end: { readonly error?: unknown } | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.on('data', (chunk: Uint8Array) => this.#push(chunk))
    response.on('end', () => this.#finish({}))
    response.on('error', (error) => this.#finish({ error }))
    // Create the error only if the connection closed early: capturing a stack is slow.
    response.on('close', () => this.#end ?? this.#finish({ error: connectionClosedError() }))
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#chunks.shift()
    if (value !== undefined) {
      if (this.#chunks.length === 0 && this.#response.isPaused()) this.#response.resume()
      return Promise.resolve({ done: false, value })
    }
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
      this.#settle()
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#chunks.length = 0
    this.#finish({})
    this.#response.destroy()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #push(chunk: Uint8Array): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader !== undefined) {
      reader.resolve({ done: false, value: chunk })
      return
    }
    this.#chunks.push(chunk)
    if (this.#chunks.length >= maxBufferedChunks) this.#response.pause()
  }

  /** The first call counts: `close` follows `end` for a complete body. */
  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end
    this.#settle()
  }

  #settle(): void {
    const reader = this.#reader
    if (reader === undefined || this.#end === undefined) return
    this.#reader = undefined
    if ('error' in this.#end) reader.reject(this.#end.error)
    else reader.resolve({ done: true, value: undefined })
  }
}
