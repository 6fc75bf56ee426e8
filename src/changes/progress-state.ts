/**
 * The progress of all handlers in one handling of one object: read from the object, kept up to date by cycle.ts, and put
 * into the next patch. What belongs to no handler of ours is left alone.
 */

import type { HandlerReason } from '../causation/cause.ts'
import { fromRecord, isFinished, type Progress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressRecord, ProgressStorage } from '../persistence/progress-storage.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'

export interface OutcomeCounts {
  success: number
  failure: number
  running: number
}

export class HandlingState {
  readonly #storage: ProgressStorage
  readonly #nowMs: number
  /** By handler id, sub-handlers too once they were asked for. */
  readonly #entries = new Map<string, Progress>()
  /** Those that take part in this handling; the others are only counted and purged. */
  readonly #active = new Set<string>()
  /** Ids whose records are to go with the next patch. */
  readonly #dropped: string[] = []

  constructor(storage: ProgressStorage, nowMs: number) {
    this.#storage = storage
    this.#nowMs = nowMs
  }

  /** What the object says of this handler; `remembered` is asked where it says nothing. */
  read(id: string, body: KubeObject, remembered?: ReadonlyMap<string, Progress>): Progress | undefined {
    const known = this.#entries.get(id)
    if (known !== undefined) return known
    const record = this.#storage.fetch({ key: id, body })
    const progress = record === undefined ? remembered?.get(id) : fromRecord(record, this.#nowMs)
    if (progress !== undefined) this.#entries.set(id, progress)
    return progress
  }

  get(id: string): Progress | undefined {
    return this.#entries.get(id)
  }

  /** Takes part from now on. */
  set(id: string, progress: Progress): void {
    this.#entries.set(id, progress)
    this.#active.add(id)
  }

  /** Takes no part any more. Its record stays where it has made attempts, and is purged with the others. */
  leave(id: string): void {
    this.#active.delete(id)
    if (this.#entries.get(id)?.retries === 0) this.#entries.delete(id)
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  entries(): IterableIterator<[string, Progress]> {
    return this.#entries.entries()
  }

  isActive(id: string): boolean {
    return this.#active.has(id)
  }

  get isDone(): boolean {
    for (const id of this.#active) if (!isFinished(this.#entries.get(id)!)) return false
    return true
  }

  /** When the first of the unfinished may be called again. */
  wakeAtMs(): number | undefined {
    let earliest: number | undefined
    for (const id of this.#active) {
      const progress = this.#entries.get(id)!
      if (isFinished(progress)) continue
      earliest = Math.min(earliest ?? Infinity, progress.delayedMs ?? this.#nowMs)
    }
    return earliest
  }

  /** Of the given handlers: sub-handlers are a part of their parents, and not counted by Kopf either. */
  counts(purpose: HandlerReason, ids: ReadonlySet<string>): OutcomeCounts {
    const counted = [...this.#entries].filter(([id, one]) => {
      return ids.has(id) && (one.purpose === undefined || one.purpose === purpose)
    })
    return count(counted.map(([, progress]) => progress))
  }

  /** What was begun for another reason, by that reason. */
  extras(purpose: HandlerReason): Map<HandlerReason, OutcomeCounts> {
    const others = new Map<HandlerReason, Progress[]>()
    for (const progress of this.#entries.values()) {
      if (!isExtra(progress, purpose)) continue
      const all = others.get(progress.purpose!) ?? []
      all.push(progress)
      others.set(progress.purpose!, all)
    }
    return new Map([...others].map(([reason, all]) => [reason, count(all)]))
  }

  /** Forgets what was begun for another reason and is not wanted any more. */
  dropExtras(purpose: HandlerReason): void {
    for (const [id, progress] of this.#entries) {
      if (!isExtra(progress, purpose) || this.#active.has(id)) continue
      this.#entries.delete(id)
      this.#dropped.push(id)
      // One by one: the author of the object may have named more than a call takes as arguments.
      for (const subref of progress.subrefs) this.#dropped.push(subref)
    }
  }

  /** Puts what is not on the object yet into the patch. */
  store(body: KubeObject, patch: JsonObject): void {
    for (const key of this.#dropped) if (!this.#entries.has(key)) this.#storage.purge({ key, body, patch })
    for (const id of this.#entries.keys()) this.storeOne(id, body, patch)
    this.#storage.flush()
  }

  /** The same for the record of one handler alone. */
  storeOne(id: string, body: KubeObject, patch: JsonObject): void {
    const record = toRecord(this.#entries.get(id)!)
    const stored = this.#storage.fetch({ key: id, body })
    if (stored !== undefined && isDeepEqual(withoutNulls(stored), withoutNulls(record))) return
    this.#storage.store({ key: id, record, body, patch })
  }

  /** Takes everything of these handlers, and all that was read, off the object. */
  purge(ids: Iterable<string>, body: KubeObject, patch: JsonObject): void {
    const keys = new Set([...ids, ...this.#dropped])
    for (const [id, { subrefs }] of this.#entries) {
      keys.add(id)
      for (const subref of subrefs) keys.add(subref)
    }
    for (const key of keys) this.#storage.purge({ key, body, patch })
    this.#storage.flush()
  }
}

/** A record with `seen` has its own purpose, to be told the rest of a change; but a deletion ends all that. */
function isExtra({ purpose, seen }: Progress, current: HandlerReason): boolean {
  return purpose !== undefined && purpose !== current && (seen === undefined || current === 'delete')
}

function count(all: readonly Progress[]): OutcomeCounts {
  const counts: OutcomeCounts = { success: 0, failure: 0, running: 0 }
  for (const { success, failure } of all) {
    if (success) counts.success += 1
    else if (failure) counts.failure += 1
    else counts.running += 1
  }
  return counts
}

function withoutNulls(record: ProgressRecord): object {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined && value !== null))
}
