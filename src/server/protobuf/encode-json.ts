/**
 * Converts the values of a message into the JSON that Go's encoder writes for the same object. Missing fields are written as zero or
 * omitted, as Go's tags specify. Called by decode.ts.
 */
import { type Json, setOwn } from '../../util/json/json.ts'
import type { ProtobufField, ProtobufMessage, ProtobufScalar } from './messages.ts'
import { type FieldValue, type Single, type Values, zeroOf } from './read.ts'
import { specialTypes } from './special.ts'
import { ProtobufError } from './wire.ts'

type JsonFields = { [key: string]: Json }

export function encodeMessage(message: ProtobufMessage, values: Values): Json {
  const special = specialTypes.get(message.name)
  if (special) return special(values, (number) => encodeInner(message, values, number))
  const result: JsonFields = {}
  for (const field of message.fields) writeField(result, field, values.get(field.number))
  return result
}

function encodeInner(message: ProtobufMessage, values: Values, number: number): Json | undefined {
  const value = values.get(number)
  return value === undefined ? undefined : encodeValue(message.byNumber.get(number)!, value)
}

function writeField(target: JsonFields, field: ProtobufField, value: FieldValue | undefined): void {
  if (field.isInline) {
    Object.assign(target, encodeMessage(field.type as ProtobufMessage, (value ?? new Map()) as Values))
    return
  }
  const encoded = encodeField(field, value)
  if (encoded !== undefined) setOwn(target, field.json, encoded)
}

/** Undefined if the field is omitted. */
function encodeField(field: ProtobufField, value: FieldValue | undefined): Json | undefined {
  const { type, shape, isPointer, omitsEmpty, omitsZero } = field
  if (shape !== 'one' || isPointer || type === 'bytes') {
    // An empty list cannot be told from a missing one; Go's encoder treats empty and missing bytes alike.
    const isEmpty = value === undefined || (value instanceof Uint8Array && value.length === 0 && !isPointer)
    if (isEmpty && omitsEmpty) return undefined
    return value === undefined ? null : encodeValue(field, value)
  }
  const encoded = encodeValue(field, value ?? zeroOf(type))
  if (typeof type !== 'string') return omitsZero && encoded === null ? undefined : encoded
  const isZero = encoded === '' || encoded === 0 || encoded === false
  return omitsEmpty && isZero ? undefined : encoded
}

function encodeValue({ type, shape }: ProtobufField, value: FieldValue): Json {
  if (shape === 'list') return (value as Single[]).map((element) => encodeSingle(type, element))
  if (shape === 'one') return encodeSingle(type, value as Single)
  const result: JsonFields = {}
  for (const [key, element] of value as Map<string, Single>) setOwn(result, key, encodeSingle(type, element))
  return result
}

function encodeSingle(type: ProtobufScalar | ProtobufMessage, value: Single): Json {
  if (typeof type !== 'string') return encodeMessage(type, value as Values)
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ProtobufError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
  }
  return value as string | number | boolean
}
