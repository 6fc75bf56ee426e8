/**
 * The records of handlers on the object: reads them, and puts the changed ones into a patch. Called by cycle.ts at both ends of a cycle and at
 * checkpoints. Records that belong to other operators are left alone.
 */
import { fromRecord, type Progress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressRecord, ProgressStorage } from '../persistence/progress-storage.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import type { HandlingState } from './handling-state.ts'

export interface RecordSource {
  readonly storage: ProgressStorage
  readonly body: KubeObject
  /** The progress of the last cycle, for objects whose schema drops the records. */
  readonly remembered: ReadonlyMap<string, Progress> | undefined
  readonly nowMs: number
}

export function readProgress({ storage, body, remembered, nowMs }: RecordSource, id: string): Progress | undefined {
  const record = storage.fetch({ key: id, body })
  return record === undefined ? remembered?.get(id) : fromRecord(record, nowMs)
}

export interface RecordTarget {
  readonly storage: ProgressStorage
  readonly body: KubeObject
  readonly patch: JsonObject
}

/** Puts the records that are not on the object yet into the patch. */
export function storeState({ entries, dropped }: HandlingState, target: RecordTarget): void {
  const { storage, body, patch } = target
  for (const key of dropped) if (!entries.has(key)) storage.purge({ key, body, patch })
  for (const [id, { progress }] of entries.entries()) storeProgress(id, progress, target)
  storage.flush()
}

export function storeProgress(id: string, progress: Progress, { storage, body, patch }: RecordTarget): void {
  const record = toRecord(progress)
  const stored = storage.fetch({ key: id, body })
  if (stored !== undefined && isDeepEqual(withoutNulls(stored), withoutNulls(record))) return
  storage.store({ key: id, record, body, patch })
}

/** Removes the records of these handlers, and all records that were read, from the object. */
export function purgeState(
  { entries, dropped }: HandlingState,
  ids: Iterable<string>,
  { storage, body, patch }: RecordTarget,
): void {
  const keys = new Set([...ids, ...dropped])
  for (const [id, { progress }] of entries.entries()) {
    keys.add(id)
    for (const subref of progress.subrefs) keys.add(subref)
  }
  for (const key of keys) storage.purge({ key, body, patch })
  storage.flush()
}

function withoutNulls(record: ProgressRecord): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined && value !== null))
}
