/**
 * Reads the wire format of protobuf: tags, numbers, length-delimited bytes. Does not know messages; read.ts does. Reading beyond the
 * end is an error with the message of Kubernetes' generated code.
 */

/** The type of a body, named or expected. */
export interface BodyType {
  readonly apiVersion: string
  readonly kind: string
}

/** The bytes are not a message, or not one of the named kind. */
export class ProtobufError extends Error {
  /** The type that the body names; undefined if it could not be read. */
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
  /** The whole tag as written. */
  readonly whole: number
}

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

const nothing = new Uint8Array()

export class WireReader {
  readonly #bytes: Uint8Array
  #position = 0
  /** The two halves of the last number read. */
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

  /** The nearest JavaScript number, as in JSON. */
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

  /** Length-delimited bytes, as a view: a wrong length allocates nothing. */
  chunk(): Uint8Array {
    const length = this.int64()
    if (length < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    if (length === 0) return nothing
    const start = this.#advance(length)
    return this.#bytes.subarray(start, this.#position)
  }

  tag(): Tag {
    this.#varint()
    // In Kubernetes' generated code, the number is a signed 32-bit integer; higher bits are cut off.
    const number = (this.#high << 29) | (this.#low >>> 3)
    return { number, wireType: this.#low & 7, whole: (this.#high >>> 0) * 2 ** 32 + (this.#low >>> 0) }
  }

  /** Skips the value after a tag; a group is skipped with its content, without recursion. */
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
   * Seven bits per byte, the lowest first, into two halves. Not into a bigint: V8 in Node 20 crashes when it optimises a loop that
   * truncates bigints to 64 bits.
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

  /** Returns the position before the move. */
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
