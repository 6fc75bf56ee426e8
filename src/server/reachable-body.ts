/**
 * The body of an answer on its way to the client, within reach of the fault plan: at any time it can be told to break off
 * or to fall silent after so many more bytes. Made by faults.ts, for what a fault strikes and for every watch.
 */
import type { Answer } from './call.ts'

/** The connection broke: there is no answer, or no more of it; only this. */
export class ConnectionFault extends Error {
  readonly code: string

  constructor(code: 'ECONNRESET' | 'ECONNREFUSED') {
    super(code === 'ECONNREFUSED' ? 'connection refused (by a fault plan)' : 'connection reset (by a fault plan)')
    this.name = 'ConnectionFault'
    this.code = code
  }
}

export interface Ending {
  readonly type: 'cut' | 'silence'
  readonly afterBytes?: number
}

type Result = IteratorResult<Uint8Array, undefined>

const nothing = new Uint8Array(0)
const done: Result = { done: true, value: undefined }

export class ReachableBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>

  /** How many bytes still pass. */
  #left = Number.POSITIVE_INFINITY
  #ending: Ending['type'] = 'cut'
  #hasBegun = false

  /** The read that has not been answered yet. */
  #reading: { resolve(result: Result): void; reject(error: unknown): void } | undefined

  readonly #over = new AbortController()

  constructor(body: Answer['body'], signal: AbortSignal) {
    this.#chunks = (typeof body === 'string' ? whole(body) : body)[Symbol.asyncIterator]()
    const gone = () => void this.return()
    signal.addEventListener('abort', gone, { once: true, signal: this.over })
    if (signal.aborted) gone()
  }

  /** Aborted when nothing more comes, but for silence: that lasts until the client goes. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Counted from now. Of several endings, the first to come is the one. */
  strike({ type, afterBytes = 0 }: Ending): void {
    if (this.over.aborted || afterBytes >= this.#left) return
    this.#left = afterBytes
    this.#ending = type
    if (afterBytes === 0 && this.#hasBegun) this.#breakOff()
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#reading = { resolve, reject }
      if (this.over.aborted) resolve(done)
      else if (this.#left === 0) this.#begunOrBroken(resolve)
      else this.#chunks.next().then((result) => this.#pass(result), reject)
      this.#hasBegun = true
    })
  }

  /** The client reads no further. */
  return(): Promise<Result> {
    this.#finish()
    this.#reading?.resolve(done)
    return Promise.resolve(done)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Even an answer that ends with its first byte has a head, and the empty chunk sends it. */
  #begunOrBroken(resolve: (result: Result) => void): void {
    if (this.#hasBegun) this.#breakOff()
    else resolve({ done: false, value: nothing })
  }

  #pass(result: Result): void {
    // It may have been struck while the chunk was on its way.
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
    // Nobody will ask for the rest, so nothing needs to be kept of it.
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
