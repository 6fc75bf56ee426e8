/**
 * Metadata as a client sent it, read as Go reads it into an `ObjectMeta`: unknown fields are dropped and named, empty ones
 * left out, wrong types refused in the words of its decoder. metadata.ts is what others use.
 */
import type { ObjectMeta } from '../kube/objects.ts'
import { cloneJson } from '../util/equality.ts'
import { formatGoTime, parseGoTime } from '../util/go-time.ts'
import { isPlainObject, type Json, setOwn } from '../util/json.ts'

export interface DecodedMetadata {
  readonly metadata: ObjectMeta
  /** `unknown field "metadata.x"`. */
  readonly problems: readonly string[]
}

export interface DecodingOptions {
  /**
   * The kind around a metadata that is read together with it, as built-in kinds are; undefined for one that is read by
   * itself, as with custom resources: then the fields are looked at by name, not in the order of the text.
   */
  readonly within: string | undefined
}

/** What cannot be read; the message is that of Go's decoder. */
export class DecodingError extends Error {}

/** What Go calls the type, and how a value that is not null becomes one; undefined for what is left out. */
interface GoType {
  readonly name: string
  decode(value: Json, place: Place): Json | undefined
  /** The same without a place for messages, where nothing has to be said: so it is with nearly all. Else undefined. */
  take?(value: Json, isSorted: boolean): Json | undefined
}

/** Where a value is: `ObjectMeta`, `metadata.labels`; and for unknown fields, `metadata.ownerReferences[0]`. */
interface Place {
  readonly struct: string
  readonly field: string
  readonly path: string
  readonly decoder: Decoder
}

/** What one decoding has found. */
interface Decoder {
  readonly isSorted: boolean
  readonly problems: Set<string>
  /** The first wrong type. Go goes on after it, for a bad time may be worse. */
  error: string | undefined
}

function mismatch(place: Place, value: Json, type: GoType, detail = ''): undefined {
  const what = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  const target = place.field === '' ? 'value' : `struct field ${place.struct}.${place.field}`
  place.decoder.error ??= `json: cannot unmarshal ${what}${detail} into Go ${target} of type ${type.name}`
  return undefined
}

function keysOf(value: { [key: string]: Json }, { decoder }: Place): string[] {
  const keys = Object.keys(value)
  return decoder.isSorted ? keys.sort() : keys
}

function textType(name: string): GoType {
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

const bool: GoType = {
  name: 'bool',
  decode(value, place) {
    return typeof value === 'boolean' ? value : mismatch(place, value, this)
  },
}

const int64: GoType = {
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

const time: GoType = {
  name: 'string',
  decode(value, place) {
    if (typeof value !== 'string') {
      // A time reads itself, and what it cannot read ends the decoding at once.
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

/** The beginning of year 1, which is how Go says "no time". */
const zeroTime = -62_135_596_800_000

const anything: GoType = { name: 'v1.FieldsV1', decode: (value) => cloneJson(value) }

const textMap: GoType = {
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

function listOf(item: GoType, zero: Json): GoType {
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

function decodeOrZero(value: Json, type: GoType, place: Place, zero: Json): Json {
  return (value === null ? undefined : type.decode(value, place)) ?? cloneJson(zero)
}

interface Field {
  readonly type: GoType
  /** Go leaves out what is empty, zero or false; a pointer only where it is nil. */
  readonly isPointer?: boolean
}

function structOf(
  name: string,
  fields: Readonly<Record<string, Field>>,
  always: { readonly [key: string]: Json } = {},
): GoType {
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

function innerPlace({ field, path, ...place }: Place, key: string): Place {
  return { ...place, field: field === '' ? key : `${field}.${key}`, path: path === '' ? key : `${path}.${key}` }
}

/** No more than a hundred, like the real decoder. */
function reportUnknown(key: string, place: Place): void {
  const { path, decoder } = innerPlace(place, key)
  if (decoder.problems.size < 100) decoder.problems.add(`unknown field "${path}"`)
}

function decodeField(target: { [key: string]: Json }, key: string, field: Field, value: Json, place: Place): void {
  if (value === null) return
  const decoded = field.type.decode(value, place)
  if (decoded !== undefined) putField(target, key, field, decoded)
}

function putField(target: { [key: string]: Json }, key: string, field: Field, decoded: Json): void {
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

/** Throws a DecodingError. Keeps nothing of what it is given. */
export function readMetadata(raw: unknown, { within }: DecodingOptions): DecodedMetadata {
  const decoder: Decoder = { isSorted: within === undefined, problems: new Set(), error: undefined }
  const field = within === undefined ? '' : 'metadata'
  const place: Place = { struct: within ?? '', field, path: 'metadata', decoder }
  const decoded = raw === undefined || raw === null ? {} : objectMeta.decode(raw as Json, place)
  if (decoder.error !== undefined) throw new DecodingError(decoder.error)
  if (within !== undefined && isEmptyList((raw as ObjectMeta | undefined)?.managedFields)) {
    // Not the same as none: it says that nobody shall own anything, for which one empty entry is the other way.
    ;(decoded as ObjectMeta).managedFields = [{}]
  }
  return { metadata: decoded as ObjectMeta, problems: [...decoder.problems] }
}
