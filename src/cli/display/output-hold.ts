/**
 * Holds the output of a process back while the terminal shows something else, and prints it afterwards. Bounded: the newest output is kept. Used by `kopf dev`
 * and by the process of its operator.
 */

/** The part of an output stream that is replaced. */
export interface HeldStream {
  write(chunk: string | Uint8Array, ...rest: never[]): boolean
}

interface HeldChunk {
  readonly stream: HeldStream
  readonly chunk: string | Uint8Array
}

const maxLength = 1_000_000

export class OutputHold implements Disposable {
  readonly #restore: ReadonlyArray<() => void>
  /** In the order of the writes. */
  readonly #chunks: HeldChunk[] = []
  #first = 0
  #length = 0

  constructor(...streams: readonly HeldStream[]) {
    this.#restore = streams.map((stream) => this.#intercept(stream))
  }

  /** Prints what was held back. */
  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore()
    const kept = this.#chunks.splice(this.#first)
    if (this.#first > 0) kept[0]?.stream.write('… earlier output was dropped\n')
    for (const { stream, chunk } of kept) stream.write(chunk)
    this.#chunks.length = 0
  }

  #intercept(stream: HeldStream): () => void {
    const own = Object.getOwnPropertyDescriptor(stream, 'write')
    stream.write = (chunk, ...rest) => {
      this.#add({ stream, chunk })
      // The callback of a write: the writer may wait for it.
      const [done] = (rest as readonly unknown[]).filter((one) => typeof one === 'function')
      ;(done as (() => void) | undefined)?.()
      return true
    }
    return () => {
      if (own) Object.defineProperty(stream, 'write', own)
      else delete (stream as Partial<HeldStream>).write
    }
  }

  #add(held: HeldChunk): void {
    this.#chunks.push(held)
    this.#length += held.chunk.length
    while (this.#length > maxLength && this.#first < this.#chunks.length - 1) {
      this.#length -= this.#chunks[this.#first]!.chunk.length
      this.#first += 1
    }
    // Moves the rest only once in a while, so that each write takes constant time on average.
    if (this.#first > 1000 && this.#first > this.#chunks.length / 2) {
      this.#chunks.splice(0, this.#first - 1)
      this.#first = 1
    }
  }
}
