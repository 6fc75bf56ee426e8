/** What every Kubernetes object looks like, as far as the API itself is concerned. */
import type { Json } from '../util/json.ts'

export type { Json }

/** A JSON object whose values have not been looked at yet. */
export type JsonObject = { [key: string]: Json }

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

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
  managedFields?: JsonObject[]
  selfLink?: string
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
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
