/**
 * Reads the bytes of a message into field values by number. encode-json.ts converts them to JSON. As lenient as Kubernetes' generated
 * code: unknown fields are skipped, and a repeated field is merged or replaced.
 */
import type { ProtobufField, ProtobufMessage, ProtobufScalar } from './messages.ts'
import { ProtobufError, type Tag, WireReader, wireTypes } from './wire.ts'

/** The fields of a message by number. */
export type Values = Map<number, FieldValue>

export type Single = string | number | boolean | Uint8Array | Values

/** Lists and maps are present only if they are not empty. */
export type FieldValue = Single | Single[] | Map<string, Single>

/** Protects the stack against deeply nested schemas; no real schema comes near it. */
const maxDepth = 1000

/** Reads into `values`, which may have values of an earlier part of the same message. */
export function readMessage(bytes: Uint8Array, message: ProtobufMessage, values: Values): void {
  new StretchReader(bytes, 0).readMessage(message, values)
}

/** Reads a range of bytes: a message, a packed list, or a map entry. */
class StretchReader {
  readonly #wire: WireReader
  readonly #depth: number

  constructor(bytes: Uint8Array, depth: number) {
    if (depth > maxDepth) throw new ProtobufError(`proto: exceeded max depth of ${maxDepth}`)
    this.#wire = new WireReader(bytes)
    this.#depth = depth
  }

  readMessage(message: ProtobufMessage, values: Values): void {
    while (!this.#wire.isAtEnd) {
      const tag = readTag(this.#wire, message)
      const field = message.byNumber.get(tag.number)
      if (field === undefined) this.#wire.skip(tag.wireType)
      else this.#readField(field, tag.wireType, values)
    }
  }

  #readField(field: ProtobufField, wireType: number, values: Values): void {
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

  /** `before` is the value of an earlier occurrence of the field: messages are merged. */
  #readOne(type: ProtobufScalar | ProtobufMessage, before?: Values): Single {
    if (typeof type === 'string') return readScalar(this.#wire, type)
    const values: Values = before ?? new Map()
    const chunk = this.#wire.chunk()
    if (chunk.length > 0) new StretchReader(chunk, this.#depth + 1).readMessage(type, values)
    return values
  }

  #inner(): StretchReader {
    return new StretchReader(this.#wire.chunk(), this.#depth)
  }

  #readPacked(type: ProtobufScalar | ProtobufMessage, list: Single[]): void {
    while (!this.#wire.isAtEnd) list.push(this.#readOne(type))
  }

  /** A map entry is a message with two fields; as in Kubernetes' generated code, their wire types are not checked. */
  #readEntry(type: ProtobufScalar | ProtobufMessage, map: Map<string, Single>): void {
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

function readTag(reader: WireReader, { name }: ProtobufMessage): Tag {
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

function readScalar(reader: WireReader, type: ProtobufScalar): Single {
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

export function zeroOf(type: ProtobufScalar | ProtobufMessage): Single {
  if (typeof type !== 'string') return new Map()
  if (type === 'string') return ''
  if (type === 'bytes') return new Uint8Array()
  return type === 'bool' ? false : 0
}

function isNumeric(type: ProtobufScalar | ProtobufMessage): boolean {
  return typeof type === 'string' && type !== 'string' && type !== 'bytes'
}

function wireTypeOf(type: ProtobufScalar | ProtobufMessage): number {
  if (!isNumeric(type)) return wireTypes.bytes
  return type === 'double' ? wireTypes.fixed64 : wireTypes.varint
}

/** Invalid UTF-8 becomes U+FFFD, as in kube-apiserver's JSON. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}
