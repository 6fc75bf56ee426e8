/**
 * The records of handlers on an object: those of the handlers that are known, and what others have left there, which can be
 * told only by its shape. Pure; called by explain.ts.
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
  /** All prefixes that are ours. */
  readonly prefixes: readonly string[]
  /** Of the handlers that are known. */
  readonly ids: readonly string[]
  readonly nowMs: number
}

export function findRecords(query: RecordsQuery): StoredRecords {
  const { body, prefixes } = query
  const known = findKnown(query)
  const isTaken = new Set(known.flatMap(({ places }) => places))
  const strange = [...findInAnnotations(query), ...findInStatus(query)].filter(({ places }) => !isTaken.has(places[0]!))
  for (const { places } of strange) isTaken.add(places[0]!)
  const names = namesByPrefix(body.metadata.annotations ?? {})
  const groups = ownedPrefixes(body, prefixes).map((prefix) => ({
    prefix,
    isOurs: prefixes.includes(prefix),
    names: (names.get(prefix) ?? []).filter((name) => !isTaken.has(`${prefix}/${name}`)),
  }))
  return { progress: [...known, ...strange], annotations: groups.filter(({ names }) => names.length > 0) }
}

/** The handlers in their order, each with its sub-handlers behind it. Does not recurse: authors of objects can write records too. */
function findKnown({ body, storage, ids, nowMs }: RecordsQuery): StoredProgress[] {
  const found = new Map<string, StoredProgress>()
  const pending = ids.toReversed()
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    if (found.has(id)) continue
    // Storages written by users may well say null.
    const record = storage.fetch({ key: id, body }) ?? undefined
    if (record === undefined) continue
    found.set(id, toStored(id, placesOf(storage, id, body), record, nowMs))
    for (const child of (record.subrefs ?? []).toReversed()) pending.push(child)
  }
  return [...found.values()]
}

/** One that is stored under two names, a newer and an older one, is one. */
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

/** Kopf has always written one of these; what has none of them is something else. */
function toRecord(value: unknown): ProgressRecord | undefined {
  const record = readRecord(value)
  const isRecord = record?.started !== undefined || record?.retries !== undefined || record?.purpose !== undefined
  return isRecord ? record : undefined
}

function ownedPrefixes({ metadata }: KubeObject, ours: readonly string[]): string[] {
  return [...new Set([...ours, ...findOwnedPrefixes(metadata.annotations ?? {})])]
}

/** Made in one pass: an object can have thousands of annotations, each under a prefix of its own. */
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

/** Of both storages, each once. */
export function ownPrefixes(...storages: readonly object[]): string[] {
  return [...new Set(storages.flatMap(prefixesOf))]
}

/** Where storages keep what they keep, found out from outside: whoever has written them. Pure. */

/** What storages of ours say of themselves; others say nothing. */
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
  return `a storage of its own (${storage.constructor.name})`
}

/** Of all annotations that a storage keeps. */
function prefixesOf(storage: object): string[] {
  const { prefix, storages } = storage as DescribableStorage
  if (Array.isArray(storages)) return storages.flatMap(prefixesOf)
  return typeof prefix === 'string' ? [prefix] : []
}

/** The fields of the status that records are kept in, by the ids of handlers. */
function recordFieldsOf(storage: object): (readonly string[])[] {
  const { field, storages } = storage as DescribableStorage
  if (Array.isArray(storages)) return storages.flatMap(recordFieldsOf)
  return Array.isArray(field) ? [field as readonly string[]] : []
}

/** Where the record of a handler is: what the storage would remove to forget it. */
function placesOf(storage: ProgressStorage, key: string, body: KubeObject): string[] {
  const patch: JsonObject = {}
  storage.purge({ key, body, patch })
  const annotations = resolvePath(patch, ['metadata', 'annotations'])
  const names = isPlainObject(annotations) ? Object.keys(annotations) : []
  const fields = recordFieldsOf(storage).filter((field) => resolvePath(patch, [...field, key]) !== undefined)
  return [...names, ...fields.map((field) => [...field, key].join('.'))]
}
