/** Types of Kubernetes objects, references to them, and notations of groups and versions. */
import { isPlainObject, type Json } from '../util/json/json.ts'

export type { Json }

/** A JSON object whose fields were not checked. */
export type JsonObject = { [key: string]: Json }

/** An entry of `metadata.ownerReferences`: when the owner is deleted, the garbage collector deletes the object. */
export interface OwnerReference {
  /** The `apiVersion` of the owner. */
  apiVersion: string
  /** The kind of the owner. */
  kind: string
  /** The name of the owner. A namespaced owner is in the namespace of the object. */
  name: string
  /** The uid of the owner: a later object with the same name is not the owner. */
  uid: string
  /** Whether the owner is the managing controller of the object. At most one owner is. */
  controller?: boolean
  /** Whether a foreground deletion of the owner waits until the object is deleted. */
  blockOwnerDeletion?: boolean
}

/** `metadata` of any object (metav1.ObjectMeta). */
export interface ObjectMeta {
  /** The name of the object: unique among the objects of its resource in its namespace. */
  name?: string
  /** A prefix for the name, used if `name` is absent: the API server appends a random suffix. */
  generateName?: string
  /** The namespace of the object. Absent for cluster-scoped objects. */
  namespace?: string
  /** The uid of the object: set by the API server, and never used for another object. */
  uid?: string
  /** The version of the object: set by the API server at every write. A write with an older version fails with a conflict. */
  resourceVersion?: string
  /** A number that the API server increases when the desired state changes, usually the `spec`. */
  generation?: number
  /** When the object was created, in RFC 3339. */
  creationTimestamp?: string
  /** When the deletion of the object was requested, in RFC 3339. The object exists until its finalizers are removed. */
  deletionTimestamp?: string
  /** How long the object may take to terminate after its deletion was requested, in seconds. */
  deletionGracePeriodSeconds?: number
  /** Labels, by which objects are selected. */
  labels?: Record<string, string>
  /** Annotations: arbitrary texts for tools, not used for selection. */
  annotations?: Record<string, string>
  /** Finalizers: the API server deletes the object only when this list is empty. */
  finalizers?: string[]
  /** The owners of the object. The garbage collector deletes the object when all of them are deleted. */
  ownerReferences?: OwnerReference[]
  /** The field managers and the fields that each of them has set. The `body` of handlers does not have it. */
  // biome-ignore lint/suspicious/noExplicitAny: accepts the metadata of other libraries, whose interfaces have no index signatures.
  managedFields?: Record<string, any>[]
  /** A former path of the object. Not set by current API servers. */
  selfLink?: string
}

/** Any Kubernetes object. Fields other than `apiVersion`, `kind` and `metadata` are not typed. */
export interface KubeObject {
  /** The group and version: `apps/v1`, or `v1` for the core group. */
  apiVersion: string
  /** The kind: `Deployment`. */
  kind: string
  /** The metadata: name, namespace, labels and so on. */
  metadata: ObjectMeta
  /** All other fields, such as `spec`, `status` and `data`. */
  [field: string]: unknown
}

/** A reference to an object, as in logs and Kubernetes events. A field that the object does not have is null. */
export interface ObjectReference {
  /** The group and version of the object: `apps/v1`. */
  readonly apiVersion: string | null
  /** The kind of the object: `Deployment`. */
  readonly kind: string | null
  /** The name of the object. */
  readonly name: string | null
  /** The uid of the object. */
  readonly uid: string | null
  /** The namespace of the object. Null for cluster-scoped objects. */
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

/**
 * Removes managed fields, which are large and rarely needed. The metadata is copied, because `delete` would make the object slow
 * and large in V8.
 */
export function dropManagedFields(object: KubeObject): KubeObject {
  // Large objects are parsed without managed fields. Copying their metadata would parse it.
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  object.metadata = metadata
  return object
}
