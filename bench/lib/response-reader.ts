/**
 * Reads the responses of one HTTP/1.1 connection with as little CPU as possible, since the driver shares two cores with the server
 * it measures. Used only by connection.ts. Supports only the responses that API servers send.
 */

export interface Receiver {
  /** Called with each piece of the body, in order. */
  onBytes(bytes: Buffer): void
  onEnd(status: number): void
}

type State = 'head' | 'sized' | 'chunkSize' | 'chunk' | 'chunkEnd'

export class ResponseReader {
  /** The received bytes of an incomplete head or line. */
  #held: Buffer = Buffer.alloc(0)
  #state: State = 'head'
  #status = 0

  /** The remaining bytes of the body, or of the current chunk. */
  #left = 0
  #isLastChunk = false
  #receiver: Receiver | undefined

  expect(receiver: Receiver): void {
    this.#receiver = receiver
  }

  feed(bytes: Buffer): void {
    let rest = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = Buffer.alloc(0)
    while (rest.length > 0) {
      const next = this.#take(rest)
      if (next === undefined) {
        this.#held = rest
        return
      }
      rest = next
    }
  }

  /** Consumes one piece and returns the bytes after it; undefined if the piece is incomplete. */
  #take(bytes: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes)
      case 'chunkSize':
        return this.#takeChunkSize(bytes)
      case 'chunkEnd':
        return this.#takeChunkEnd(bytes)
      default:
        return this.#takeBody(bytes)
    }
  }

  #takeHead(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const head = bytes.toString('latin1', 0, end)
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    this.#state = length === undefined ? 'chunkSize' : 'sized'
    this.#left = Number(length ?? 0)
    if (length === '0') this.#end()
    return bytes.subarray(end + 4)
  }

  #takeBody(bytes: Buffer): Buffer {
    const piece = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= piece.length
    this.#receiver?.onBytes(piece)
    if (this.#left === 0 && this.#state === 'sized') this.#end()
    else if (this.#left === 0) this.#state = 'chunkEnd'
    return bytes.subarray(piece.length)
  }

  #takeChunkSize(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf('\r\n')
    if (end < 0) return undefined
    this.#left = Number.parseInt(bytes.toString('latin1', 0, end), 16)
    this.#isLastChunk = this.#left === 0
    this.#state = this.#isLastChunk ? 'chunkEnd' : 'chunk'
    return bytes.subarray(end + 2)
  }

  #takeChunkEnd(bytes: Buffer): Buffer | undefined {
    if (bytes.length < 2) return undefined
    this.#state = 'chunkSize'
    if (this.#isLastChunk) this.#end()
    return bytes.subarray(2)
  }

  #end(): void {
    this.#state = 'head'
    this.#isLastChunk = false
    const receiver = this.#receiver
    this.#receiver = undefined
    receiver?.onEnd(this.#status)
  }
}
