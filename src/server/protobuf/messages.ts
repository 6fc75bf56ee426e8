/**
 * The protobuf messages of built-in kinds from the generated table: field numbers, JSON names, and which fields are omitted in JSON.
 * Loaded with the first protobuf body; used by read.ts and encode-json.ts.
 */
import { unpackJson } from '../packed-json.ts'
import { packedMessages } from './messages.generated.ts'

export type ProtobufScalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'uint32' | 'double'

export interface ProtobufField {
  readonly number: number
  /** The name in JSON; empty for an inline message and for fields without a JSON name. */
  readonly json: string
  /** The name in Go, used in error messages. */
  readonly goName: string
  readonly type: ProtobufScalar | ProtobufMessage
  readonly shape: 'one' | 'list' | 'map'
  /** True if a missing value differs from a zero value. */
  readonly isPointer: boolean
  /** True if zero values are omitted in JSON. Structs are never omitted by this tag in Go. */
  readonly omitsEmpty: boolean
  /** True for a struct that is omitted in JSON if it is zero. */
  readonly omitsZero: boolean
  readonly isInline: boolean
}

export interface ProtobufMessage {
  /** `core.v1.Pod`. */
  readonly name: string
  /** In the order of the JSON. */
  readonly fields: readonly ProtobufField[]
  readonly byNumber: ReadonlyMap<number, ProtobufField>
}

type Row = readonly [number: number, json: string, type: string, flags?: string, goName?: string]

interface Table {
  /** By apiVersion and kind: `apps/v1 Deployment`. */
  readonly kinds: Readonly<Record<string, string>>
  readonly messages: Readonly<Record<string, readonly Row[]>>
}

/** The envelope of every body. */
const envelopeRows: Table['messages'] = {
  'runtime.Unknown': [
    [1, 'typeMeta', 'runtime.TypeMeta'],
    [2, 'raw', 'bytes'],
    [3, 'contentEncoding', 'string'],
    [4, 'contentType', 'string'],
  ],
  'runtime.TypeMeta': [
    [1, 'apiVersion', 'string', '', 'APIVersion'],
    [2, 'kind', 'string'],
  ],
}

class Messages {
  readonly #kinds: ReadonlyMap<string, string>
  readonly #rows: ReadonlyMap<string, readonly Row[]>
  readonly #known = new Map<string, ProtobufMessage>()

  constructor({ kinds, messages }: Table) {
    this.#kinds = new Map(Object.entries(kinds))
    this.#rows = new Map(Object.entries(messages))
  }

  ofKind(apiVersion: string, kind: string): ProtobufMessage | undefined {
    // All groups and versions have the same DeleteOptions.
    const name = kind === 'DeleteOptions' ? 'meta.v1.DeleteOptions' : this.#kinds.get(`${apiVersion} ${kind}`)
    return name === undefined ? undefined : this.named(name)
  }

  named(name: string): ProtobufMessage {
    const known = this.#known.get(name)
    if (known) return known
    const fields: ProtobufField[] = []
    const byNumber = new Map<number, ProtobufField>()
    const message = { name, fields, byNumber }
    // Registered before its fields, which may have the same type: JSON schemas contain schemas.
    this.#known.set(name, message)
    for (const row of this.#rows.get(name)!) {
      const field = this.#field(row)
      fields.push(field)
      byNumber.set(field.number, field)
    }
    return message
  }

  #field([number, json, text, flags = '', goName]: Row): ProtobufField {
    const shape = text.startsWith('[]') ? 'list' : text.startsWith('{}') ? 'map' : 'one'
    const type = shape === 'one' ? text : text.slice(2)
    return {
      number,
      json,
      goName: goName ?? `${json.slice(0, 1).toUpperCase()}${json.slice(1)}`,
      type: type.includes('.') ? this.named(type) : (type as ProtobufScalar),
      shape,
      isPointer: flags.includes('*'),
      omitsEmpty: flags.includes('e'),
      omitsZero: flags.includes('z'),
      isInline: flags.includes('i'),
    }
  }
}

const table = unpackJson(packedMessages) as Table
const messages = new Messages({ ...table, messages: { ...table.messages, ...envelopeRows } })

/** The envelope with the fields `typeMeta` and `raw`. */
export const envelope: ProtobufMessage = messages.named('runtime.Unknown')

export function findMessage(apiVersion: string, kind: string): ProtobufMessage | undefined {
  return messages.ofKind(apiVersion, kind)
}
