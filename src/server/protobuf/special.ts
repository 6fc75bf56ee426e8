/**
 * Types with their own JSON encoding in Kubernetes: quantities, times, raw JSON, unions. Used by encode-json.ts, which encodes all
 * other types by their fields.
 */

import { parseQuantity } from '../../kube/quantities.ts'
import type { Json } from '../../util/json/json.ts'
import { parseJsonText } from '../json-text.ts'
import { textOf, type Values } from './read.ts'
import { ProtobufError } from './wire.ts'

/** The JSON of an inner field by number; undefined if it is missing. */
type Inner = (number: number) => Json | undefined
type SpecialEncoder = (values: Values, inner: Inner) => Json

const list: SpecialEncoder = (_, inner) => inner(1) ?? []
const listOrSchema: SpecialEncoder = (_, inner) => inner(2) ?? inner(1) ?? null
/** The schema if there is one, otherwise whether everything is allowed. */
const schemaOrBool: SpecialEncoder = (_, inner) => inner(2) ?? inner(1) ?? false

/** By message name. */
export const specialTypes: ReadonlyMap<string, SpecialEncoder> = new Map<string, SpecialEncoder>([
  ['resource.Quantity', quantity],
  ['meta.v1.Time', time],
  ['meta.v1.MicroTime', microTime],
  ['intstr.IntOrString', intOrString],
  ['meta.v1.FieldsV1', embedded],
  ['runtime.RawExtension', embedded],
  ['apiextensions.v1.JSON', embedded],
  ['authentication.v1.ExtraValue', list],
  ['authorization.v1.ExtraValue', list],
  ['apiextensions.v1.JSONSchemaPropsOrArray', listOrSchema],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', listOrSchema],
  ['apiextensions.v1.JSONSchemaPropsOrBool', schemaOrBool],
])

function quantity(values: Values): Json {
  const text = values.get(1) as string | undefined
  if (text === undefined) return '0'
  const parsed = parseQuantity(text)
  if (typeof parsed === 'string') throw new ProtobufError(parsed)
  return text
}

/** Go's zero time (January 1 of year 1), which stands for no time. */
const zeroSeconds = -62_135_596_800

function time(values: Values): Json {
  // An unset time is a message without fields; 1970 has at least one.
  if (values.size === 0) return null
  const seconds = (values.get(1) ?? 0) as number
  return seconds === zeroSeconds ? null : `${formatSeconds(seconds)}Z`
}

function microTime(values: Values): Json {
  if (values.size === 0) return null
  const nanos = Math.trunc(((values.get(2) ?? 0) as number) / 1000) * 1000
  const seconds = ((values.get(1) ?? 0) as number) + Math.floor(nanos / 1e9)
  const micros = (nanos - Math.floor(nanos / 1e9) * 1e9) / 1000
  if (seconds === zeroSeconds && micros === 0) return null
  return `${formatSeconds(seconds)}.${String(micros).padStart(6, '0')}Z`
}

function formatSeconds(seconds: number): string {
  const date = new Date(seconds * 1000)
  const year = date.getUTCFullYear()
  if (Number.isNaN(year) || year < 0 || year > 9999) throw new ProtobufError('Time: year outside of range [0,9999]')
  return date.toISOString().slice(0, 19)
}

function intOrString(values: Values): Json {
  const type = values.get(1) ?? 0
  if (type === 0) return (values.get(2) ?? 0) as number
  if (type === 1) return (values.get(3) ?? '') as string
  throw new ProtobufError('impossible IntOrString.Type')
}

/** JSON text inside of protobuf. */
function embedded(values: Values): Json {
  const raw = values.get(1) as Uint8Array | undefined
  if (raw === undefined || raw.length === 0) return null
  try {
    return parseJsonText(textOf(raw)) as Json
  } catch (error) {
    throw new ProtobufError((error as Error).message)
  }
}
