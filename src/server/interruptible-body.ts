/**
 * A response body that the fault plan can interrupt at any time: cut or silenced after a number of further bytes. Created by faults.ts
 * for responses with such a fault and for every watch.
 */
import type { ApiResponse } from './call.ts'

/** The connection is closed by a fault, before or during the response. */
export class ConnectionFault extends Error {
  readonly code: string

  constructor(code: 'ECONNRESET' | 'ECONNREFUSED') {
    super(code === 'ECONNREFUSED' ? 'connection refused (by a fault plan)' : 'connection reset (by a fault plan)')
    this.name = 'ConnectionFault'
    this.code = code
  }
}

export interface BodyInterruption {
  readonly type: 'cut' | 'silence'
  readonly afterBytes?: number
}

type BodyReadResult = IteratorResult<Uint8Array, undefined>

const nothing = new Uint8Array(0)
const done: BodyReadResult = { done: true, value: undefined }

export class InterruptibleBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>

  /** Remaining bytes that may be sent. */
  #left = Number.POSITIVE_INFINITY
  #ending: BodyInterruption['type'] = 'cut'
  #hasBegun = false

  /** The pending read. */
  #reading: { resolve(result: BodyReadResult): void; reject(error: unknown): void } | undefined

  readonly #over = new AbortController()

  constructor(body: ApiResponse['body'], signal: AbortSignal) {
    this.#chunks = (typeof body === 'string' ? whole(body) : body)[Symbol.asyncIterator]()
    const gone = () => void this.return()
    signal.addEventListener('abort', gone, { once: true, signal: this.over })
    if (signal.aborted) gone()
  }

  /** Aborted when nothing more is sent. A silenced body ends when the client disconnects. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Interrupts the body after `afterBytes` from now. Of several interruptions, the earliest counts. */
  interrupt({ type, afterBytes = 0 }: BodyInterruption): void {
    if (this.over.aborted || afterBytes >= this.#left) return
    this.#left = afterBytes
    this.#ending = type
    if (afterBytes === 0 && this.#hasBegun) this.#breakOff()
  }

  next(): Promise<BodyReadResult> {
    return new Promise((resolve, reject) => {
      this.#reading = { resolve, reject }
      if (this.over.aborted) resolve(done)
      else if (this.#left === 0) this.#begunOrBroken(resolve)
      else this.#chunks.next().then((result) => this.#pass(result), reject)
      this.#hasBegun = true
    })
  }

  /** Called when the client stops reading. */
  return(): Promise<BodyReadResult> {
    this.#finish()
    this.#reading?.resolve(done)
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Even a response without a body byte has a head: the empty chunk sends it. */
  #begunOrBroken(resolve: (result: BodyReadResult) => void): void {
    if (this.#hasBegun) this.#breakOff()
    else resolve({ done: false, value: nothing })
  }

  #pass(result: BodyReadResult): void {
    // The body may have been interrupted while the chunk was being read.
    if (this.#left === 0) return
    if (result.done) {
      void this.return()
      return
    }
    const chunk = result.value.length > this.#left ? result.value.subarray(0, this.#left) : result.value
    this.#left -= chunk.length
    this.#reading?.resolve({ done: false, value: chunk })
  }

  #breakOff(): void {
    // Ends the source, since no more chunks are read from it.
    void this.#chunks.return?.()
    if (this.#ending === 'silence') return
    this.#finish()
    this.#reading?.reject(new ConnectionFault('ECONNRESET'))
  }

  #finish(): void {
    if (this.over.aborted) return
    this.#over.abort()
    void this.#chunks.return?.()
  }
}

async function* whole(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
