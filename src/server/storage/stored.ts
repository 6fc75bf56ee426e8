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
  /** The uids of the owners whose deletion in the foreground waits for this object. */
  readonly blockedOwners: readonly string[] | undefined
  readonly finalizers: readonly string[] | undefined
  /** The rules it was written by, or that were found to change nothing. Readers of just these get the text as it is. */
  rules: object
  /** The state that this one differs from in nothing but its version; what was made of that one is good for this one. */
  readonly origin?: Stored | undefined
}

/** What happened to one object, in the words of a watch. */
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** 0 where nothing has happened, and whoever follows is to look again. */
  readonly version: number
  /** For a deletion: the last state, under the version of the deletion. */
  readonly current: Stored
  readonly previous: Stored | undefined
  /** For watches that see it leave while it lives: the state before, under this version. Made when first asked for. */
  lastSeen?: Stored
}

/** In the place of rules: nobody has read the text yet by the rules that there are. */
export const unread: object = {}

export function keyOf(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

export function toStored(collection: string, object: KubeObject, version: number, rules: object): Stored {
  const { apiVersion, kind, metadata, ...rest } = object
  metadata.resourceVersion = String(version)
  const { json, isExact } = toText({ apiVersion, kind, metadata, ...rest })
  return new State({ collection, metadata, version, json, isExact, rules })
}

interface StateParts extends Pick<Stored, 'collection' | 'version' | 'json' | 'isExact' | 'rules' | 'origin'> {
  readonly metadata: ObjectMeta
}

/** A class, for objects that are put together from others may each get a shape of its own, larger than all that is in them. */
class State implements Stored {
  readonly collection: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly version: number
  readonly json: string
  readonly isExact: boolean
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly isDeleting: boolean
  readonly owners: readonly string[] | undefined
  readonly blockedOwners: readonly string[] | undefined
  readonly finalizers: readonly string[] | undefined
  rules: object
  readonly origin: Stored | undefined

  constructor({ collection, metadata, version, json, isExact, rules, origin }: StateParts) {
    const { name = '', namespace = '', uid = '', labels, ownerReferences, finalizers } = metadata
    const blocked = ownerReferences?.filter(({ blockOwnerDeletion }) => blockOwnerDeletion) ?? []
    this.collection = collection
    this.namespace = namespace
    this.name = name
    this.uid = uid
    this.version = version
    this.json = json
    this.isExact = isExact
    this.labels = labels
    this.isDeleting = metadata.deletionTimestamp !== undefined
    this.owners = ownerReferences?.length ? ownerReferences.map((owner) => owner.uid) : undefined
    this.blockedOwners = blocked.length > 0 ? blocked.map((owner) => owner.uid) : undefined
    // A copy: the object that is being written may still be changed by its writer.
    this.finalizers = finalizers?.length ? [...finalizers] : undefined
    this.rules = rules
    this.origin = origin
  }

  get key(): string {
    return keyOf(this.namespace, this.name)
  }
}

/** From the text of an earlier life of the server. Who reads it finds out whether the rules still make the same of it. */
export function restoreStored(collection: string, json: string, version: number, isExact: boolean): Stored {
  const { metadata } = (isExact ? parseJsonText(json) : JSON.parse(json)) as KubeObject
  return new State({ collection, metadata, version, json, isExact, rules: unread })
}

function toText(object: object): Pick<Stored, 'json' | 'isExact'> {
  try {
    return { json: inOnePiece(JSON.stringify(object)), isExact: false }
  } catch {
    return { json: toJsonText(object), isExact: true }
  }
}

/**
 * A text that was just written is in pieces, which take half as much again, until somebody reads a character of it; then
 * there is one piece, and the next collection of garbage leaves nothing else.
 */
function inOnePiece(text: string): string {
  if (text.charCodeAt(0) !== 0x7b) throw new TypeError('Not the text of an object')
  return text
}

/** A fresh copy: the caller may do with it what it likes. */
export function parseStored(stored: Stored): KubeObject {
  return (stored.isExact ? parseJsonText(stored.json) : JSON.parse(stored.json)) as KubeObject
}

/** The same state under another version: what a watch shows of an object that is gone. */
export function withVersion(stored: Stored, version: number): Stored {
  const { apiVersion, kind, metadata, ...rest } = parseStored(stored)
  metadata.resourceVersion = String(version)
  const { json, isExact } = toText({ apiVersion, kind, metadata, ...rest })
  const { collection, rules, origin = stored } = stored
  return new State({ collection, metadata, version, json, isExact, rules, origin })
}

const beforeApiVersion = '{"apiVersion":"'.length

/** Without reading the text: it begins with this. */
export function apiVersionOf({ json }: Stored): string {
  return json.slice(beforeApiVersion, json.indexOf('"', beforeApiVersion))
}
