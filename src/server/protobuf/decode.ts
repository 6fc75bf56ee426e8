/**
 * A body in protobuf, as kubectl and the Go clients send the built-in kinds, turned into the JSON that says the same. The
 * answers stay JSON: the clients accept both. Loaded by ../body.ts with the first such body.
 */
import { parseGroupVersion } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import { encodeMessage } from './encode-json.ts'
import { envelope, findMessage, type Message } from './messages.ts'
import { readMessage, type Values } from './read.ts'
import { type BodyType, ProtobufError } from './wire.ts'

/** `k8s` and a zero, before every message. */
const magic = [0x6b, 0x38, 0x73, 0x00]

/** Where the scheme of the real server was made, which its messages tell for want of a name. */
const scheme = 'pkg/runtime/scheme.go:111'

/** `expected` is what a body is that does not say it. Throws a ProtobufError with the words of the real server. */
export function decodeProtobuf(bytes: Uint8Array, expected: Partial<BodyType> = {}): unknown {
  const { type: told, raw } = openEnvelope(bytes)
  const type = { apiVersion: told.apiVersion || expected.apiVersion || '', kind: told.kind || expected.kind || '' }
  const message = messageOf(type, expected)
  const values: Values = new Map()
  try {
    readMessage(raw, message, values)
    return { kind: type.kind, apiVersion: type.apiVersion, ...(encodeMessage(message, values) as object) }
  } catch (error) {
    if (error instanceof ProtobufError) throw new ProtobufError(error.message, type)
    throw error
  }
}

function openEnvelope(bytes: Uint8Array): { readonly type: BodyType; readonly raw: Uint8Array } {
  if (bytes.length === 0) throw new ProtobufError('empty data')
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    const prefix = magic.join(' ')
    throw new ProtobufError(`provided data does not appear to be a protobuf message, expected prefix [${prefix}]`)
  }
  if (bytes.length === magic.length) throw new ProtobufError('empty body')
  const values: Values = new Map()
  readMessage(bytes.subarray(magic.length), envelope, values)
  const typeMeta = (values.get(1) ?? new Map()) as Values
  const apiVersion = (typeMeta.get(1) ?? '') as string
  return {
    // A version that is none is taken for one that is not told.
    type: { apiVersion: parseGroupVersion(apiVersion) ? apiVersion : '', kind: (typeMeta.get(2) ?? '') as string },
    raw: (values.get(2) ?? new Uint8Array()) as Uint8Array,
  }
}

function messageOf(type: BodyType, expected: Partial<BodyType>): Message {
  const { apiVersion, kind } = type
  if (kind === '' || apiVersion === '') {
    const missing = kind === '' ? 'Kind' : 'apiVersion'
    const shown = `runtime.TypeMeta{APIVersion:${quote(apiVersion)}, Kind:${quote(kind)}}`
    throw new ProtobufError(`Object '${missing}' is missing in '${shown}'`)
  }
  // Where options are expected, the real server knows of no other kinds at all.
  const isStranger = expected.kind === 'DeleteOptions' && kind !== expected.kind
  const message = isStranger ? undefined : findMessage(apiVersion, kind)
  if (message !== undefined) return message
  throw new ProtobufError(
    `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "${scheme}"`,
    type,
  )
}
