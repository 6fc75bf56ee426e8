/**
 * The bytes of a protobuf message, read one piece at a time: tags, numbers, stretches of a given length. Knows nothing of
 * messages; read.ts does. Whatever lies beyond the end is an error in the words of the code that Kubernetes generates.
 */

/** What a body is, or is expected to be. */
export interface BodyType {
  readonly apiVersion: string
  readonly kind: string
}

/** The bytes are no message, or not one of the kind they claim. */
export class ProtobufError extends Error {
  /** What the body says it is; undefined where it cannot be read that far. */
  readonly type: BodyType | undefined

  constructor(message: string, type?: BodyType) {
    super(message)
    this.name = 'ProtobufError'
    this.type = type
  }
}

export interface Tag {
  readonly number: number
  readonly wireType: number
  /** Both in one, as they were written. */
  readonly whole: number
}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

const nothing = new Uint8Array()

export class WireReader {
  readonly #bytes: Uint8Array
  #position = 0
  /** The halves of the number read last. */
  #low = 0
  #high = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#bytes.length
  }

  int32(): number {
    this.#varint()
    return this.#low | 0
  }

  uint32(): number {
    this.#varint()
    return this.#low >>> 0
  }

  /** The nearest number that JavaScript has, as in JSON. */
  int64(): number {
    this.#varint()
    return (this.#high | 0) * 2 ** 32 + (this.#low >>> 0)
  }

  bool(): boolean {
    this.#varint()
    return (this.#low | this.#high) !== 0
  }

  double(): number {
    const start = this.#advance(8)
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + start, 8).getFloat64(0, true)
  }

  /** A stretch of bytes with its length before it: a view, so that a length costs nothing until its bytes are there. */
  chunk(): Uint8Array {
    const length = this.int64()
    if (length < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    if (length === 0) return nothing
    const start = this.#advance(length)
    return this.#bytes.subarray(start, this.#position)
  }

  tag(): Tag {
    this.#varint()
    // The number has 32 bits and a sign in Kubernetes' code, and what does not fit is cut off.
    const number = (this.#high << 29) | (this.#low >>> 3)
    return { number, wireType: this.#low & 7, whole: (this.#high >>> 0) * 2 ** 32 + (this.#low >>> 0) }
  }

  /** Passes over the value that belongs to a tag just read; a group with all that is in it, without recursion. */
  skip(wireType: number): void {
    let depth = 0
    for (let type = wireType; ; type = this.tag().wireType) {
      if (type === wireTypes.varint) this.#varint()
      else if (type === wireTypes.fixed64) this.#advance(8)
      else if (type === wireTypes.bytes) this.chunk()
      else if (type === wireTypes.fixed32) this.#advance(4)
      else if (type === wireTypes.startGroup) depth += 1
      else if (type !== wireTypes.endGroup) throw new ProtobufError(`proto: illegal wireType ${type}`)
      else if (depth === 0) throw new ProtobufError('proto: unexpected end of group')
      else depth -= 1
      if (depth === 0) return
    }
  }

  /**
   * Seven bits a byte, the lowest first, into two halves. Not into a bigint: V8 of Node 20 dies when it optimizes a loop
   * that cuts bigints to 64 bits.
   */
  #varint(): void {
    this.#low = 0
    this.#high = 0
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = this.#byte()
      const bits = byte & 0x7f
      if (shift < 32) this.#low |= bits << shift
      if (shift > 28) this.#high |= bits << (shift - 32)
      else if (shift === 28) this.#high |= bits >>> 4
      if (byte < 0x80) return
    }
    throw new ProtobufError('proto: integer overflow')
  }

  #byte(): number {
    const byte = this.#bytes[this.#position]
    if (byte === undefined) throw endReached()
    this.#position += 1
    return byte
  }

  /** Returns where it was before. */
  #advance(length: number): number {
    const start = this.#position
    if (start + length > this.#bytes.length) throw endReached()
    this.#position = start + length
    return start
  }
}

function endReached(): ProtobufError {
  return new ProtobufError('unexpected EOF')
}
