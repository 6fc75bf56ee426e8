/** The body of an answer, as it comes from the socket. Made by transport.ts; read by session.ts. */
import type { IncomingMessage } from 'node:http'
import { connectionClosed } from './connection-error.ts'

/** So many pieces may wait to be read before the server is made to wait. */
const mostPieces = 16

interface Reader {
  resolve(result: IteratorResult<Uint8Array, undefined>): void
  reject(error: unknown): void
}

/**
 * The body as it comes; closes the connection where it is not read to its end, begun or not. Much cheaper than the
 * iterator of Node's streams, which counts with three of them for every object handled.
 */
export class ResponseBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #response: IncomingMessage
  readonly #pieces: Uint8Array[] = []
  /** Waits for the next piece; only while there is none. */
  #reader: Reader | undefined
  #end: { readonly error?: unknown } | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.on('data', (piece: Uint8Array) => this.#take(piece))
    response.on('end', () => this.#finish({}))
    response.on('error', (error) => this.#finish({ error }))
    // An error has a stack, which is dear: only where it is one.
    response.on('close', () => this.#end ?? this.#finish({ error: connectionClosed() }))
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#pieces.shift()
    if (value !== undefined) {
      if (this.#pieces.length === 0 && this.#response.isPaused()) this.#response.resume()
      return Promise.resolve({ done: false, value })
    }
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject }
      this.#settle()
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#pieces.length = 0
    this.#finish({})
    this.#response.destroy()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take(piece: Uint8Array): void {
    const reader = this.#reader
    this.#reader = undefined
    if (reader !== undefined) {
      reader.resolve({ done: false, value: piece })
      return
    }
    this.#pieces.push(piece)
    if (this.#pieces.length >= mostPieces) this.#response.pause()
  }

  /** The first end counts: a connection is also closed after all has come. */
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
