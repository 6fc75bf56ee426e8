/**
 * Decodes metadata like Go decodes an `ObjectMeta`: unknown fields are dropped and reported, empty fields omitted, wrong types
 * rejected in the words of Go's decoder. Other files use metadata.ts.
 */
import type { ObjectMeta } from '../kube/objects.ts'
import { cloneJson } from '../util/json/deep-equal.ts'
import { isPlainObject, type Json, setOwn } from '../util/json/json.ts'
import { formatGoTime, parseGoTime } from '../util/text/go-time.ts'

export interface DecodedMetadata {
  readonly metadata: ObjectMeta
  /** `unknown field "metadata.x"`. */
  readonly problems: readonly string[]
}

export interface DecodingOptions {
  /**
   * The kind of the enclosing object if metadata is decoded together with it, as for built-in kinds. Undefined for custom resources,
   * whose metadata is decoded separately: fields are then visited in sorted order instead of the text's order.
   */
  readonly enclosingKind: string | undefined
}

/** Metadata that cannot be decoded; the message is that of Go's decoder. */
export class DecodingError extends Error {}

/** A Go type: its name, and the decoding of a non-null value. `decode` returns undefined for a value that is omitted. */
interface MetadataType {
  readonly name: string
  decode(value: Json, place: MetadataPosition): Json | undefined
  /** A fast path without a position for messages, for valid values. Returns undefined if `decode` must be used. */
  take?(value: Json, isSorted: boolean): Json | undefined
}

/**
 * The position of a value: Go struct and field (`ObjectMeta`, `metadata.labels`), and the path for unknown fields
 * (`metadata.ownerReferences[0]`).
 */
interface MetadataPosition {
  readonly struct: string
  readonly field: string
  readonly path: string
  readonly decoder: MetadataDecoder
}

/** State of one decoding. */
interface MetadataDecoder {
  readonly isSorted: boolean
  readonly problems: Set<string>
  /** The first wrong type. Go continues decoding, because an invalid time takes precedence. */
  error: string | undefined
}

function mismatch(place: MetadataPosition, value: Json, type: MetadataType, detail = ''): undefined {
  const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  const target = place.field === '' ? 'value' : `struct field ${place.struct}.${place.field}`
  place.decoder.error ??= `json: cannot unmarshal ${what}${detail} into Go ${target} of type ${type.name}`
  return undefined
}

function keysOf(value: { [key: string]: Json }, { decoder }: MetadataPosition): string[] {
  const keys = Object.keys(value)
  return decoder.isSorted ? keys.sort() : keys
}

function textType(name: string): MetadataType {
  return {
    name,
    decode(value, place) {
      return typeof value === 'string' ? value : mismatch(place, value, this)
    },
    take: (value) => (typeof value === 'string' ? value : undefined),
  }
}

const string = textType('string')
const uid = textType('types.UID')

const bool: MetadataType = {
  name: 'bool',
  decode(value, place) {
    return typeof value === 'boolean' ? value : mismatch(place, value, this)
  },
}

const int64: MetadataType = {
  name: 'int64',
  decode(given, place) {
    const value = typeof given === 'bigint' ? Number(given) : given
    if (typeof value !== 'number') return mismatch(place, value, this)
    if (!Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 63)
      return mismatch(place, value, this, ` ${value}`)
    return value + 0
  },
  take: (value) => (Number.isSafeInteger(value) ? (value as number) + 0 : undefined),
}

const time: MetadataType = {
  name: 'string',
  decode(value, place) {
    if (typeof value !== 'string') {
      // Go's Time has its own decoder, whose errors end the decoding immediately.
      place.decoder.error = undefined
      mismatch(place, value, this)
      throw new DecodingError(place.decoder.error)
    }
    try {
      const point = parseGoTime(value)
      return point === zeroTime ? undefined : formatGoTime(point)
    } catch (error) {
      throw error instanceof RangeError ? new DecodingError(error.message) : error
    }
  },
}

/** The start of year 1: Go's zero time. */
const zeroTime = -62_135_596_800_000

const anything: MetadataType = { name: 'v1.FieldsV1', decode: (value) => cloneJson(value) }

const textMap: MetadataType = {
  name: 'map[string]string',
  decode(value, place) {
    if (!isPlainObject(value)) return mismatch(place, value, this)
    const result: { [key: string]: Json } = {}
    for (const key of keysOf(value, place)) setOwn(result, key, decodeOrZero(value[key]!, string, place, ''))
    return result
  },
  take(value, isSorted) {
    if (!isPlainObject(value)) return undefined
    const keys = Object.keys(value)
    if (keys.some((key) => typeof value[key] !== 'string')) return undefined
    const result: { [key: string]: Json } = {}
    for (const key of isSorted ? keys.sort() : keys) setOwn(result, key, value[key]!)
    return result
  },
}

function listOf(item: MetadataType, zero: Json): MetadataType {
  return {
    name: `[]${item.name}`,
    decode(value, place) {
      if (!Array.isArray(value)) return mismatch(place, value, this)
      return value.map((element, index) => {
        return decodeOrZero(element, item, { ...place, path: `${place.path}[${index}]` }, zero)
      })
    },
    take(value, isSorted) {
      if (!Array.isArray(value) || item.take === undefined) return undefined
      const taken = value.map((element) => item.take!(element, isSorted))
      return taken.includes(undefined) ? undefined : (taken as Json[])
    },
  }
}

function decodeOrZero(value: Json, type: MetadataType, place: MetadataPosition, zero: Json): Json {
  return (value === null ? undefined : type.decode(value, place)) ?? cloneJson(zero)
}

interface MetadataField {
  readonly type: MetadataType
  /** Go omits empty, zero and false values; a pointer only if it is nil. */
  readonly isPointer?: boolean
}

function structOf(
  name: string,
  fields: Readonly<Record<string, MetadataField>>,
  always: { readonly [key: string]: Json } = {},
): MetadataType {
  const struct = name.replace(/^.*\./, '')
  const hasAlways = Object.keys(always).length > 0
  return {
    name,
    decode(value, place) {
      if (!isPlainObject(value)) return mismatch(place, value, this)
      const { isSorted } = place.decoder
      const decoded: { [key: string]: Json } = { ...always }
      for (const key of keysOf(value, place)) {
        const field = Object.hasOwn(fields, key) ? fields[key] : undefined
        if (field === undefined) {
          reportUnknown(key, place)
          continue
        }
        const taken = field.type.take?.(value[key]!, isSorted)
        if (taken !== undefined) putField(decoded, key, field, taken)
        else decodeField(decoded, key, field, value[key]!, { ...innerPlace(place, key), struct })
      }
      if (isSorted && !hasAlways) return decoded
      return inOrder(decoded, isSorted ? Object.keys(decoded).sort() : Object.keys(fields))
    },
  }
}

function inOrder(values: { [key: string]: Json }, keys: readonly string[]): { [key: string]: Json } {
  const present = keys.filter((key) => Object.hasOwn(values, key))
  return Object.fromEntries(present.map((key) => [key, values[key]!]))
}

function innerPlace({ field, path, ...place }: MetadataPosition, key: string): MetadataPosition {
  return { ...place, field: field === '' ? key : `${field}.${key}`, path: path === '' ? key : `${path}.${key}` }
}

/** At most a hundred, as in Go's decoder. */
function reportUnknown(key: string, place: MetadataPosition): void {
  const { path, decoder } = innerPlace(place, key)
  if (decoder.problems.size < 100) decoder.problems.add(`unknown field "${path}"`)
}

function decodeField(
  target: { [key: string]: Json },
  key: string,
  field: MetadataField,
  value: Json,
  place: MetadataPosition,
): void {
  if (value === null) return
  const decoded = field.type.decode(value, place)
  if (decoded !== undefined) putField(target, key, field, decoded)
}

function putField(target: { [key: string]: Json }, key: string, field: MetadataField, decoded: Json): void {
  if (field.isPointer || Object.hasOwn(target, key) || !isZero(decoded)) target[key] = decoded
}

function isZero(value: Json): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === 0 || value === false
}

const ownerReference = structOf(
  'v1.OwnerReference',
  {
    apiVersion: { type: string },
    kind: { type: string },
    name: { type: string },
    uid: { type: uid },
    controller: { type: bool, isPointer: true },
    blockOwnerDeletion: { type: bool, isPointer: true },
  },
  { apiVersion: '', kind: '', name: '', uid: '' },
)

const managedFieldsEntry = structOf('v1.ManagedFieldsEntry', {
  manager: { type: string },
  operation: { type: textType('v1.ManagedFieldsOperationType') },
  apiVersion: { type: string },
  time: { type: time },
  fieldsType: { type: string },
  fieldsV1: { type: anything, isPointer: true },
  subresource: { type: string },
})

const objectMeta = structOf('v1.ObjectMeta', {
  name: { type: string },
  generateName: { type: string },
  namespace: { type: string },
  selfLink: { type: string },
  uid: { type: uid },
  resourceVersion: { type: string },
  generation: { type: int64 },
  creationTimestamp: { type: time },
  deletionTimestamp: { type: time },
  deletionGracePeriodSeconds: { type: int64, isPointer: true },
  labels: { type: textMap },
  annotations: { type: textMap },
  ownerReferences: { type: listOf(ownerReference, { apiVersion: '', kind: '', name: '', uid: '' }) },
  finalizers: { type: listOf(string, '') },
  managedFields: { type: listOf(managedFieldsEntry, {}) },
})

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Throws a DecodingError. The result shares nothing with `raw`. */
export function readMetadata(raw: unknown, { enclosingKind }: DecodingOptions): DecodedMetadata {
  const decoder: MetadataDecoder = { isSorted: enclosingKind === undefined, problems: new Set(), error: undefined }
  const field = enclosingKind === undefined ? '' : 'metadata'
  const place: MetadataPosition = { struct: enclosingKind ?? '', field, path: 'metadata', decoder }
  const decoded = raw === undefined || raw === null ? {} : objectMeta.decode(raw as Json, place)
  if (decoder.error !== undefined) throw new DecodingError(decoder.error)
  if (enclosingKind !== undefined && isEmptyList((raw as ObjectMeta | undefined)?.managedFields)) {
    // An explicit empty list differs from a missing one: it resets all field managers, which one empty entry expresses as well.
    ;(decoded as ObjectMeta).managedFields = [{}]
  }
  return { metadata: decoded as ObjectMeta, problems: [...decoder.problems] }
}
