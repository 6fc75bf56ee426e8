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

/** Passes all writes to the streams to a function, until the result is disposed. */
export function interceptWrites(
  streams: readonly HeldStream[],
  onWrite: (chunk: string | Uint8Array, stream: HeldStream) => void,
): Disposable {
  const restore = streams.map((stream) => {
    const own = Object.getOwnPropertyDescriptor(stream, 'write')
    stream.write = (chunk, ...rest) => {
      onWrite(chunk, stream)
      // The callback of a write: the writer may wait for it.
      const [done] = (rest as readonly unknown[]).filter((one) => typeof one === 'function')
      ;(done as (() => void) | undefined)?.()
      return true
    }
    return () => {
      if (own) Object.defineProperty(stream, 'write', own)
      else delete (stream as Partial<HeldStream>).write
    }
  })
  return {
    [Symbol.dispose]() {
      for (const one of restore) one()
    },
  }
}

export class OutputHold implements Disposable {
  readonly #interception: Disposable
  /** In the order of the writes. */
  readonly #chunks: HeldChunk[] = []
  #first = 0
  #length = 0

  constructor(...streams: readonly HeldStream[]) {
    this.#interception = interceptWrites(streams, (chunk, stream) => this.#add({ stream, chunk }))
  }

  /** Prints what was held back. */
  [Symbol.dispose](): void {
    this.#interception[Symbol.dispose]()
    const kept = this.#chunks.splice(this.#first)
    if (this.#first > 0) kept[0]?.stream.write('… earlier output was dropped\n')
    for (const { stream, chunk } of kept) stream.write(chunk)
    this.#chunks.length = 0
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
