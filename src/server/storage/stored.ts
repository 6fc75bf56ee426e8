/** One version of one object in the store: its JSON text, and the metadata that is needed without parsing the text. */
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { parseJsonText, toJsonText } from '../../util/json/json-text.ts'

export interface Stored {
  readonly collection: string
  /** `namespace/name`, or the bare name of a cluster-scoped object. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The resourceVersion; one counter for the whole store. */
  readonly version: number
  /** The whole object. `apiVersion` and `kind` come first, so that lists can cut them off without parsing. */
  readonly json: string
  /** True if the text has integers that a double cannot hold; it must be parsed with parseJsonText then. */
  readonly isExact: boolean
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly isDeleting: boolean
  /** The uids of the owner references; undefined if there are none. */
  readonly owners: readonly string[] | undefined
  /** The uids of owners with `blockOwnerDeletion`: their foreground deletion waits for this object. */
  readonly blockedOwners: readonly string[] | undefined
  readonly finalizers: readonly string[] | undefined
  /** The resource (schema) that this text was last normalised with. A reader with the same resource gets `json` without parsing. */
  rules: object
  /** The state with the same content under an older version. Whatever was computed for that state also holds for this one. */
  readonly origin?: Stored | undefined
}

/** A change of one object, with the type of the watch event. */
export interface StoreChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** 0 for a notification without a change: the listener must read the object again. */
  readonly version: number
  /** For a deletion: the last state with the version of the deletion. */
  readonly current: Stored
  readonly previous: Stored | undefined
  /** For watches whose selector the object no longer matches: the previous state with this change's version. Created on demand. */
  lastSeen?: Stored
}

/** Used as `rules` of a restored text that has not been normalised with the current schema yet. */
export const unread: object = {}

export function keyOf(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

export function toStored(collection: string, object: KubeObject, version: number, rules: object): Stored {
  const { apiVersion, kind, metadata, ...rest } = object
  metadata.resourceVersion = String(version)
  const { json, isExact } = toText({ apiVersion, kind, metadata, ...rest })
  return new StoredState({ collection, metadata, version, json, isExact, rules })
}

interface StateParts extends Pick<Stored, 'collection' | 'version' | 'json' | 'isExact' | 'rules' | 'origin'> {
  readonly metadata: ObjectMeta
}

/** A class, because objects built by spreading may each get their own hidden class in V8, which takes more memory than their fields. */
class StoredState implements Stored {
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
    // A copy, because the writer may still change the object.
    this.finalizers = finalizers?.length ? [...finalizers] : undefined
    this.rules = rules
    this.origin = origin
  }

  get key(): string {
    return keyOf(this.namespace, this.name)
  }
}

/** Creates a state from the text of a data directory. The first reader normalises it, since the schema may have changed. */
export function restoreStored(collection: string, json: string, version: number, isExact: boolean): Stored {
  const { metadata } = (isExact ? parseJsonText(json) : JSON.parse(json)) as KubeObject
  return new StoredState({ collection, metadata, version, json, isExact, rules: unread })
}

function toText(object: object): Pick<Stored, 'json' | 'isExact'> {
  try {
    return { json: flattened(JSON.stringify(object)), isExact: false }
  } catch {
    return { json: toJsonText(object), isExact: true }
  }
}

/**
 * JSON.stringify returns a rope, which takes half as much memory again. Reading one character flattens it, and garbage collection
 * frees the pieces.
 */
function flattened(text: string): string {
  if (text.charCodeAt(0) !== 0x7b) throw new TypeError('Not the text of an object')
  return text
}

/** Returns a new copy, which the caller may modify. */
export function parseStored(stored: Stored): KubeObject {
  return (stored.isExact ? parseJsonText(stored.json) : JSON.parse(stored.json)) as KubeObject
}

/** The same state under another version, as in the watch event of a deleted object. */
export function withVersion(stored: Stored, version: number): Stored {
  const { apiVersion, kind, metadata, ...rest } = parseStored(stored)
  metadata.resourceVersion = String(version)
  const { json, isExact } = toText({ apiVersion, kind, metadata, ...rest })
  const { collection, rules, origin = stored } = stored
  return new StoredState({ collection, metadata, version, json, isExact, rules, origin })
}

const beforeApiVersion = '{"apiVersion":"'.length

/** Reads the apiVersion without parsing: the text starts with it. */
export function apiVersionOf({ json }: Stored): string {
  return json.slice(beforeApiVersion, json.indexOf('"', beforeApiVersion))
}
