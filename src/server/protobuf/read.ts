/**
 * From the bytes of a message to the values of its fields, by number. What they are in JSON is the business of
 * encode-json.ts. Lenient where Kubernetes' own reader is: unknown fields are passed over, a field that comes again adds to
 * what was there or takes its place.
 */
import type { Field, Message, Scalar } from './messages.ts'
import { ProtobufError, type Tag, WireReader, wireTypes } from './wire.ts'

/** The fields that were there, by number. */
export type Values = Map<number, Value>

export type Single = string | number | boolean | Uint8Array | Values

/** Lists and maps are there only when they have something in them. */
export type Value = Single | Single[] | Map<string, Single>

/** Schemas can be nested without an end; this keeps the stack from overflowing, and no schema in use comes near it. */
const maxDepth = 1000

/** Reads into `values`, which may have values from an earlier stretch of the same message. */
export function readMessage(bytes: Uint8Array, message: Message, values: Values): void {
  new StretchReader(bytes, 0).readMessage(message, values)
}

/** A stretch of bytes on its way to values: a message, a list without tags in between, or an entry of a map. */
class StretchReader {
  readonly #wire: WireReader
  readonly #depth: number

  constructor(bytes: Uint8Array, depth: number) {
    if (depth > maxDepth) throw new ProtobufError(`proto: exceeded max depth of ${maxDepth}`)
    this.#wire = new WireReader(bytes)
    this.#depth = depth
  }

  readMessage(message: Message, values: Values): void {
    while (!this.#wire.isAtEnd) {
      const tag = readTag(this.#wire, message)
      const field = message.byNumber.get(tag.number)
      if (field === undefined) this.#wire.skip(tag.wireType)
      else this.#readField(field, tag.wireType, values)
    }
  }

  #readField(field: Field, wireType: number, values: Values): void {
    const { number, type, shape } = field
    const isPacked = shape === 'list' && wireType === wireTypes.bytes && isNumeric(type)
    const expected = shape === 'map' ? wireTypes.bytes : wireTypeOf(type)
    if (wireType !== expected && !isPacked) {
      throw new ProtobufError(`proto: wrong wireType = ${wireType} for field ${field.goName}`)
    }
    if (shape === 'one') values.set(number, this.#readOne(type, values.get(number) as Values | undefined))
    else if (shape === 'map') this.#inner().#readEntry(type, mapIn(values, number))
    else if (isPacked) this.#inner().#readPacked(type, listIn(values, number))
    else listIn(values, number).push(this.#readOne(type))
  }

  /** `before` is what an earlier occurrence of the field has left: messages are merged. */
  #readOne(type: Scalar | Message, before?: Values): Single {
    if (typeof type === 'string') return readScalar(this.#wire, type)
    const values: Values = before ?? new Map()
    const chunk = this.#wire.chunk()
    if (chunk.length > 0) new StretchReader(chunk, this.#depth + 1).readMessage(type, values)
    return values
  }

  #inner(): StretchReader {
    return new StretchReader(this.#wire.chunk(), this.#depth)
  }

  #readPacked(type: Scalar | Message, list: Single[]): void {
    while (!this.#wire.isAtEnd) list.push(this.#readOne(type))
  }

  /** An entry of a map is a message of two fields; their types are not checked, as in Kubernetes' own reader. */
  #readEntry(type: Scalar | Message, map: Map<string, Single>): void {
    let key = ''
    let value: Single | undefined
    while (!this.#wire.isAtEnd) {
      const { number, wireType } = this.#wire.tag()
      if (number === 1) key = textOf(this.#wire.chunk())
      else if (number === 2) value = this.#readOne(type)
      else this.#wire.skip(wireType)
    }
    map.set(key, value ?? zeroOf(type))
  }
}

function readTag(reader: WireReader, { name }: Message): Tag {
  const tag = reader.tag()
  const local = name.slice(name.lastIndexOf('.') + 1)
  if (tag.wireType === wireTypes.endGroup) throw new ProtobufError(`proto: ${local}: wiretype end group for non-group`)
  if (tag.number <= 0) throw new ProtobufError(`proto: ${local}: illegal tag ${tag.number} (wire type ${tag.whole})`)
  return tag
}

function listIn(values: Values, number: number): Single[] {
  const list = (values.get(number) ?? []) as Single[]
  values.set(number, list)
  return list
}

function mapIn(values: Values, number: number): Map<string, Single> {
  const map = (values.get(number) ?? new Map()) as Map<string, Single>
  values.set(number, map)
  return map
}

function readScalar(reader: WireReader, type: Scalar): Single {
  switch (type) {
    case 'string':
      return textOf(reader.chunk())
    case 'bytes':
      return reader.chunk()
    case 'bool':
      return reader.bool()
    case 'int32':
      return reader.int32()
    case 'uint32':
      return reader.uint32()
    case 'int64':
      return reader.int64()
    case 'double':
      return reader.double()
  }
}

export function zeroOf(type: Scalar | Message): Single {
  if (typeof type !== 'string') return new Map()
  if (type === 'string') return ''
  if (type === 'bytes') return new Uint8Array()
  return type === 'bool' ? false : 0
}

function isNumeric(type: Scalar | Message): boolean {
  return typeof type === 'string' && type !== 'string' && type !== 'bytes'
}

function wireTypeOf(type: Scalar | Message): number {
  if (!isNumeric(type)) return wireTypes.bytes
  return type === 'double' ? wireTypes.fixed64 : wireTypes.varint
}

/** What is no UTF-8 becomes U+FFFD, as in the JSON of the real server. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
