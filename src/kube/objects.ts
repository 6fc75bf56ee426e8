/** What every Kubernetes object looks like, as far as the API itself is concerned. */
import type { Json } from '../util/json.ts'

export type { Json }

/** A JSON object whose values have not been looked at yet. */
export type JsonObject = { [key: string]: Json }

/** Names the object that another one belongs to, and with which it goes. */
export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** The metadata that every object has. */
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
  // biome-ignore lint/suspicious/noExplicitAny: takes the metadata of other libraries, whose interfaces have no index signatures.
  managedFields?: Record<string, any>[]
  selfLink?: string
}

/** Any Kubernetes object: a kind, a name, and whatever else it has. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** Which object is meant: in logs, and in the events about it. Null for what the object does not have. */
export interface ObjectReference {
  readonly apiVersion: string | null
  readonly kind: string | null
  readonly name: string | null
  readonly uid: string | null
  readonly namespace: string | null
}

/** Whatever is not a string counts as absent: the object may be anything that calls itself one. */
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

/** A group and a resource in it, written as Kubernetes does in messages: `deployments.apps`, `pods`. */
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

/** Splits an `apiVersion`; undefined where it is not one or two parts. */
export function parseGroupVersion(apiVersion: string): { group: string; version: string } | undefined {
  const parts = apiVersion.split('/')
  if (parts.length === 1 && parts[0] !== '') return { group: '', version: parts[0]! }
  if (parts.length === 2 && parts[0] !== '' && parts[1] !== '') return { group: parts[0]!, version: parts[1]! }
  return undefined
}
