/**
 * Decodes a protobuf body, which kubectl and Go clients send for built-in kinds, into the equivalent JSON. Responses stay JSON, since
 * these clients accept both. Loaded by ../body.ts with the first such body.
 */
import { parseGroupVersion } from '../../kube/objects.ts'
import { quote } from '../field-errors.ts'
import { encodeMessage } from './encode-json.ts'
import { envelope, findMessage, type ProtobufMessage } from './messages.ts'
import { readMessage, type Values } from './read.ts'
import { type BodyType, ProtobufError } from './wire.ts'

/** The prefix of every message: `k8s` and a zero byte. */
const magic = [0x6b, 0x38, 0x73, 0x00]

/** The place where kube-apiserver creates its scheme, shown in messages because the scheme has no name. */
const scheme = 'pkg/runtime/scheme.go:111'

/** `expected` is the type of a body that does not name one. Throws a ProtobufError with kube-apiserver's message. */
export function decodeProtobuf(bytes: Uint8Array, expected: Partial<BodyType> = {}): unknown {
  const { type: given, raw } = openEnvelope(bytes)
  const type = { apiVersion: given.apiVersion || expected.apiVersion || '', kind: given.kind || expected.kind || '' }
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
    // An invalid version counts as missing.
    type: { apiVersion: parseGroupVersion(apiVersion) ? apiVersion : '', kind: (typeMeta.get(2) ?? '') as string },
    raw: (values.get(2) ?? new Uint8Array()) as Uint8Array,
  }
}

function messageOf(type: BodyType, expected: Partial<BodyType>): ProtobufMessage {
  const { apiVersion, kind } = type
  if (kind === '' || apiVersion === '') {
    const missing = kind === '' ? 'Kind' : 'apiVersion'
    const shown = `runtime.TypeMeta{APIVersion:${quote(apiVersion)}, Kind:${quote(kind)}}`
    throw new ProtobufError(`Object '${missing}' is missing in '${shown}'`)
  }
  // Where options are expected, kube-apiserver knows no other kinds.
  const isStranger = expected.kind === 'DeleteOptions' && kind !== expected.kind
  const message = isStranger ? undefined : findMessage(apiVersion, kind)
  if (message !== undefined) return message
  throw new ProtobufError(
    `no kind ${quote(kind)} is registered for version ${quote(apiVersion)} in scheme "${scheme}"`,
    type,
  )
}
