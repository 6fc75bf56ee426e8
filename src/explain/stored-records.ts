/**
 * Finds the progress records on an object: those of the registered handlers by their ids, and those of other handlers by their
 * shape. Also describes the storages. Pure; called by explain.ts.
 */

import { findOwnedPrefixes } from '../causation/own-annotations.ts'
import { fromRecord, isFinished } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { type ProgressRecord, readRecord } from '../persistence/progress-record.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'
import { parseStored } from '../persistence/stored-annotations.ts'
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath } from '../util/json/paths.ts'
import type { Explanation, StoredProgress } from './explanation.ts'

export interface StoredRecords {
  readonly progress: readonly StoredProgress[]
  readonly annotations: Explanation['annotations']
}

export interface RecordsQuery {
  readonly body: KubeObject
  readonly storage: ProgressStorage
  /** The annotation prefixes of the operator's own storages. */
  readonly prefixes: readonly string[]
  /** The ids of the registered handlers. */
  readonly ids: readonly string[]
  readonly nowMs: number
}

export function findRecords(query: RecordsQuery): StoredRecords {
  const { body, prefixes } = query
  const known = findKnown(query)
  const found = new Set(known.flatMap(({ places }) => places))
  const unknown = [...findInAnnotations(query), ...findInStatus(query)].filter(({ places }) => !found.has(places[0]!))
  for (const { places } of unknown) found.add(places[0]!)
  const names = namesByPrefix(body.metadata.annotations ?? {})
  const groups = ownedPrefixes(body, prefixes).map((prefix) => ({
    prefix,
    isOurs: prefixes.includes(prefix),
    names: (names.get(prefix) ?? []).filter((name) => !found.has(`${prefix}/${name}`)),
  }))
  return { progress: [...known, ...unknown], annotations: groups.filter(({ names }) => names.length > 0) }
}

/**
 * Finds the records of registered handlers in their order, each followed by its sub-handlers. Does not recurse, because authors
 * of objects can write records too.
 */
function findKnown({ body, storage, ids, nowMs }: RecordsQuery): StoredProgress[] {
  const found = new Map<string, StoredProgress>()
  const pending = ids.toReversed()
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (found.has(id)) continue
    // Storages written by users may return null.
    const record = storage.fetch({ key: id, body }) ?? undefined
    if (record === undefined) continue
    found.set(id, toStored(id, locationsOf(storage, id, body), record, nowMs))
    for (const child of (record.subrefs ?? []).toReversed()) pending.push(child)
  }
  return [...found.values()]
}

/** Finds records in annotations by their shape. A record that is stored under two names (a newer and an older form) counts once. */
function findInAnnotations({ body, prefixes, nowMs }: RecordsQuery): StoredProgress[] {
  const annotations = body.metadata.annotations ?? {}
  const names = namesByPrefix(annotations)
  const seen = new Set<string>()
  return ownedPrefixes(body, prefixes).flatMap((prefix) =>
    (names.get(prefix) ?? []).flatMap((name) => {
      const text = annotations[`${prefix}/${name}`]!
      const record = toRecord(parseStored(text))
      if (record === undefined || seen.has(`${prefix}/${text}`)) return []
      seen.add(`${prefix}/${text}`)
      return [toStored(name, [`${prefix}/${name}`], record, nowMs)]
    }),
  )
}

function findInStatus({ body, storage, nowMs }: RecordsQuery): StoredProgress[] {
  return recordFieldsOf(storage).flatMap((field) => {
    const records = resolvePath(body, field)
    if (!isPlainObject(records)) return []
    return Object.entries(records).flatMap(([id, value]) => {
      const record = toRecord(value)
      return record === undefined ? [] : [toStored(id, [[...field, id].join('.')], record, nowMs)]
    })
  })
}

/** Returns a record only if it has one of the fields that Kopf has always written. */
function toRecord(value: unknown): ProgressRecord | undefined {
  const record = readRecord(value)
  const isRecord = record?.started !== undefined || record?.retries !== undefined || record?.purpose !== undefined
  return isRecord ? record : undefined
}

function ownedPrefixes({ metadata }: KubeObject, ours: readonly string[]): string[] {
  return [...new Set([...ours, ...findOwnedPrefixes(metadata.annotations ?? {})])]
}

/** Groups annotation names by prefix in one pass: an object can have thousands of annotations with different prefixes. */
function namesByPrefix(annotations: Readonly<Record<string, string>>): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const key of Object.keys(annotations)) {
    const slash = key.indexOf('/')
    if (slash < 0) continue
    const [prefix, name] = [key.slice(0, slash), key.slice(slash + 1)]
    const names = found.get(prefix)
    if (names === undefined) found.set(prefix, [name])
    else names.push(name)
  }
  return found
}

function toStored(id: string, places: readonly string[], record: ProgressRecord, nowMs: number): StoredProgress {
  const progress = fromRecord(record, nowMs)
  const waits = progress.delayedMs !== undefined && progress.delayedMs > nowMs
  const open = waits ? 'waiting' : 'due'
  const { started, stopped, delayed, message } = record
  return {
    id,
    places,
    state: isFinished(progress) ? (progress.success ? 'succeeded' : 'failed') : open,
    ...(progress.purpose && { purpose: progress.purpose }),
    retries: progress.retries,
    ...(started && { started }),
    ...(stopped && { stopped }),
    ...(delayed && { delayed }),
    ...(message && { message }),
    subhandlers: progress.subrefs,
  }
}

/** The annotation prefixes of the storages, without duplicates. */
export function ownPrefixes(...storages: readonly object[]): string[] {
  return [...new Set(storages.flatMap(prefixesOf))]
}

/** The properties of the built-in storages that describe them. Storages written by users do not have them. */
interface DescribableStorage {
  readonly prefix?: unknown
  readonly field?: unknown
  readonly storages?: unknown
}

/** `annotations of kopf.zalando.org, and status.kopf.progress` */
export function describeStorage(storage: object): string {
  const { prefix, field, storages } = storage as DescribableStorage
  if (Array.isArray(storages)) return storages.map(describeStorage).join(', and ')
  if (typeof prefix === 'string') return `annotations of ${prefix}`
  if (Array.isArray(field)) return field.join('.')
  return `a custom storage (${storage.constructor.name})`
}

/** The annotation prefixes of a storage and of the storages that it combines. */
function prefixesOf(storage: object): string[] {
  const { prefix, storages } = storage as DescribableStorage
  if (Array.isArray(storages)) return storages.flatMap(prefixesOf)
  return typeof prefix === 'string' ? [prefix] : []
}

/** The status fields in which a storage keeps records by handler id. */
function recordFieldsOf(storage: object): (readonly string[])[] {
  const { field, storages } = storage as DescribableStorage
  if (Array.isArray(storages)) return storages.flatMap(recordFieldsOf)
  return Array.isArray(field) ? [field as readonly string[]] : []
}

/** The locations of a handler's record: what the storage would remove to purge it. */
function locationsOf(storage: ProgressStorage, key: string, body: KubeObject): string[] {
  const patch: JsonObject = {}
  storage.purge({ key, body, patch })
  const annotations = resolvePath(patch, ['metadata', 'annotations'])
  const names = isPlainObject(annotations) ? Object.keys(annotations) : []
  const fields = recordFieldsOf(storage).filter((field) => resolvePath(patch, [...field, key]) !== undefined)
  return [...names, ...fields.map((field) => [...field, key].join('.'))]
}
