/** Types of Kubernetes objects, references to them, and notations of groups and versions. */
import { isPlainObject, type Json } from '../util/json/json.ts'

export type { Json }

/** A JSON object whose fields were not checked. */
export type JsonObject = { [key: string]: Json }

/** An entry of `metadata.ownerReferences`: when the owner is deleted, the garbage collector deletes the object. */
export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** `metadata` of any object (metav1.ObjectMeta). */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: OwnerReference[]
  // biome-ignore lint/suspicious/noExplicitAny: accepts the metadata of other libraries, whose interfaces have no index signatures.
  managedFields?: Record<string, any>[]
  selfLink?: string
}

/** Any Kubernetes object. Fields beside `metadata` are not typed. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** A reference to an object, in logs and Kubernetes events. Null for fields that the object lacks. */
export interface ObjectReference {
  readonly apiVersion: string | null
  readonly kind: string | null
  readonly name: string | null
  readonly uid: string | null
  readonly namespace: string | null
}

/** The reference to an object of unchecked type: a field that is not a string counts as absent. */
export function toObjectReference(object: object): ObjectReference {
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
  const { apiVersion, kind, metadata } = object as Readonly<Record<string, unknown>>
  const { name, uid, namespace } = (metadata ?? {}) as Readonly<Record<string, unknown>>
  return {
    apiVersion: text(apiVersion),
    kind: text(kind),
    name: text(name),
    uid: text(uid),
    namespace: text(namespace),
  }
}

/** A resource without a version, written as in Kubernetes' messages: `deployments.apps`, `pods`. */
export interface GroupResource {
  readonly group: string
  readonly plural: string
}

export function formatGroupResource({ group, plural }: GroupResource): string {
  return group === '' ? plural : `${plural}.${group}`
}

export function formatGroupVersion(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** Splits an `apiVersion`; undefined unless it has one or two non-empty parts. */
export function parseGroupVersion(apiVersion: string): { group: string; version: string } | undefined {
  const parts = apiVersion.split('/')
  if (parts.length === 1 && parts[0] !== '') return { group: '', version: parts[0]! }
  if (parts.length === 2 && parts[0] !== '' && parts[1] !== '') return { group: parts[0]!, version: parts[1]! }
  return undefined
}

/**
 * Removes nulls from a response, in place: an object or a list of objects. Go writes an empty list or map without `omitempty` as null:
 * `items: null`, `metadata.finalizers: null`. Null means absent there, but breaks code that iterates. Applied to every response and
 * every watch event, so that no other code has to expect null in `items` and `metadata`.
 */
export function dropNullFields(response: JsonObject): JsonObject {
  dropNullMetadata(response)
  if (typeof response['kind'] !== 'string' || !response['kind'].endsWith('List')) return response
  const { items } = response
  if (items === null) response['items'] = []
  if (!Array.isArray(items)) return response
  for (const item of items) if (isPlainObject(item)) dropNullMetadata(item)
  return response
}

/** Copies the metadata only if it has a null, which is rare. Large objects are frozen, and lazy-json.ts creates them without nulls. */
function dropNullMetadata(object: JsonObject): void {
  if (Object.isFrozen(object)) return
  const { metadata } = object
  if (!isPlainObject(metadata) || !hasNull(metadata)) return
  object['metadata'] = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null))
}

function hasNull(fields: JsonObject): boolean {
  for (const key in fields) if (fields[key] === null) return true
  return false
}
