/**
 * The messages that clients send, from the generated table: which fields, their numbers, their names in JSON and what is
 * left out there. Loaded with the first protobuf body; read.ts and encode-json.ts walk these.
 */
import { unpackJson } from '../packed-json.ts'
import { packedMessages } from './messages.generated.ts'

export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'uint32' | 'double'

export interface Field {
  readonly number: number
  /** The name in JSON; empty where the fields of the message inside stand in its place, or where it has none. */
  readonly json: string
  /** The name in Go, which error messages tell. */
  readonly goName: string
  readonly type: Scalar | Message
  readonly shape: 'one' | 'list' | 'map'
  /** Whether not being there is something else than being zero. */
  readonly isPointer: boolean
  /** Zero values are not written to JSON. Structs are: for Go they are never empty. */
  readonly omitsEmpty: boolean
  /** A struct that is not written to JSON when it is zero. */
  readonly omitsZero: boolean
  readonly isInline: boolean
}

export interface Message {
  /** `core.v1.Pod`. */
  readonly name: string
  /** In the order of the JSON. */
  readonly fields: readonly Field[]
  readonly byNumber: ReadonlyMap<number, Field>
}

type Row = readonly [number: number, json: string, type: string, flags?: string, goName?: string]

interface Table {
  /** By `apps/v1 Deployment`. */
  readonly kinds: Readonly<Record<string, string>>
  readonly messages: Readonly<Record<string, readonly Row[]>>
}

/** Every body is one of these around the message that matters. */
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
  readonly #known = new Map<string, Message>()

  constructor({ kinds, messages }: Table) {
    this.#kinds = new Map(Object.entries(kinds))
    this.#rows = new Map(Object.entries(messages))
  }

  ofKind(apiVersion: string, kind: string): Message | undefined {
    // Every group and version of the real server has it, and in all it is the same.
    const name = kind === 'DeleteOptions' ? 'meta.v1.DeleteOptions' : this.#kinds.get(`${apiVersion} ${kind}`)
    return name === undefined ? undefined : this.named(name)
  }

  named(name: string): Message {
    const known = this.#known.get(name)
    if (known) return known
    const fields: Field[] = []
    const byNumber = new Map<number, Field>()
    const message = { name, fields, byNumber }
    // Before its fields, which may be of its own type: schemas have schemas in them.
    this.#known.set(name, message)
    for (const row of this.#rows.get(name)!) {
      const field = this.#field(row)
      fields.push(field)
      byNumber.set(field.number, field)
    }
    return message
  }

  #field([number, json, text, flags = '', goName]: Row): Field {
    const shape = text.startsWith('[]') ? 'list' : text.startsWith('{}') ? 'map' : 'one'
    const type = shape === 'one' ? text : text.slice(2)
    return {
      number,
      json,
      goName: goName ?? `${json.slice(0, 1).toUpperCase()}${json.slice(1)}`,
      type: type.includes('.') ? this.named(type) : (type as Scalar),
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

/** Whose fields are `typeMeta` and `raw`. */
export const envelope: Message = messages.named('runtime.Unknown')

export function findMessage(apiVersion: string, kind: string): Message | undefined {
  return messages.ofKind(apiVersion, kind)
}
