/** One version of one object, as the store keeps it: its text, and the few things that are looked at without reading the text. */
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { parseJsonText, toJsonText } from '../../util/json-text.ts'

export interface Stored {
  readonly collection: string
  /** `namespace/name`, or the bare name of a cluster-scoped object. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The resourceVersion; one counter for the whole store. */
  readonly version: number
  /** The whole object; it begins with `apiVersion` and `kind`, so that both can be cut off where lists leave them out. */
  readonly json: string
  /** Whether there are integers in the text that a double cannot hold; few objects have any. */
  readonly isExact: boolean
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly isDeleting: boolean
  /** The uids of its owners; undefined for the many that have none. */
  readonly owners: readonly string[] | undefined
  /** The rules it was written by, or that were found to change nothing. Readers of just these get the text as it is. */
  rules: object
  /** The state that this one differs from in nothing but its version; what was made of that one is good for this one. */
  readonly origin?: Stored
}

/** What happened to one object, in the words of a watch. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** 0 where nothing has happened, and whoever follows is to look again. */
  readonly version: number
  /** For a deletion: the last state, under the version of the deletion. */
  readonly current: Stored
  readonly previous: Stored | undefined
}

/** In the place of rules: nobody has read the text yet by the rules that there are. */
export const unread: object = {}

export function keyOf(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

export function toStored(collection: string, object: KubeObject, version: number, rules: object): Stored {
  const { apiVersion, kind, metadata, ...rest } = object
  metadata.resourceVersion = String(version)
  const text = toText({ apiVersion, kind, metadata, ...rest })
  return { ...summarize(collection, metadata), version, ...text, rules }
}

type Summary = Pick<Stored, 'collection' | 'key' | 'namespace' | 'name' | 'uid' | 'labels' | 'isDeleting' | 'owners'>

function summarize(collection: string, metadata: ObjectMeta): Summary {
  const { name = '', namespace = '', uid = '', labels, ownerReferences } = metadata
  return {
    collection,
    key: keyOf(namespace, name),
    namespace,
    name,
    uid,
    labels,
    isDeleting: metadata.deletionTimestamp !== undefined,
    owners: ownerReferences?.length ? ownerReferences.map((owner) => owner.uid) : undefined,
  }
}

/** From the text of an earlier life of the server. Who reads it finds out whether the rules still make the same of it. */
export function restoreStored(collection: string, json: string, version: number, isExact: boolean): Stored {
  const { metadata } = (isExact ? parseJsonText(json) : JSON.parse(json)) as KubeObject
  return { ...summarize(collection, metadata), version, json, isExact, rules: unread }
}

function toText(object: object): Pick<Stored, 'json' | 'isExact'> {
  try {
    return { json: JSON.stringify(object), isExact: false }
  } catch {
    return { json: toJsonText(object), isExact: true }
  }
}

/** A fresh copy: the caller may do with it what it likes. */
export function parseStored(stored: Stored): KubeObject {
  return (stored.isExact ? parseJsonText(stored.json) : JSON.parse(stored.json)) as KubeObject
}

/** The same state under another version: what a watch shows of an object that is gone. */
export function withVersion(stored: Stored, version: number): Stored {
  const object = parseStored(stored)
  return { ...toStored(stored.collection, object, version, stored.rules), origin: stored.origin ?? stored }
}

const beforeApiVersion = '{"apiVersion":"'.length

/** Without reading the text: it begins with this. */
export function apiVersionOf({ json }: Stored): string {
  return json.slice(beforeApiVersion, json.indexOf('"', beforeApiVersion))
}
