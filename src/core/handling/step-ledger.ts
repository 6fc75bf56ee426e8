/**
 * What the steps of all handlers in one handling of one object have come to: read from the object, added to by steps.ts,
 * and put into the next patch. A record beside that of the handler, which names it as it names those of sub-handlers: so
 * whoever ends the handling removes it, Kopf too.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'
import { fromRecord, type Progress, toRecord } from './progress.ts'

/** The run of a handler that a step belongs to. */
type Run = Pick<Progress, 'startedMs' | 'purpose'>

export class StepLedger {
  readonly #storage: ProgressStorage
  readonly #nowMs: number
  /** By id: that of the handler, and its own behind it. */
  readonly #entries = new Map<string, Progress>()
  /** Those that are not on the object yet, as far as we know. */
  readonly #noted = new Set<string>()
  /** Those of handlers that have finished. */
  readonly #forgotten = new Set<string>()

  constructor(storage: ProgressStorage, nowMs: number) {
    this.#storage = storage
    this.#nowMs = nowMs
  }

  entries(): IterableIterator<[string, Progress]> {
    return this.#entries.entries()
  }

  isStep(id: string): boolean {
    return this.#entries.has(id) || this.#forgotten.has(id)
  }

  isForgotten(id: string): boolean {
    return this.#forgotten.has(id)
  }

  /** Those among the ids that are steps; `remembered` is asked where the object says nothing. */
  read(ids: Iterable<string>, body: KubeObject, remembered: ReadonlyMap<string, Progress> | undefined): void {
    for (const id of ids) {
      if (this.isStep(id)) continue
      const record = this.#storage.fetch({ key: id, body })
      const progress = record === undefined ? remembered?.get(id) : fromRecord(record, this.#nowMs)
      if (progress?.result !== undefined && progress.success) this.#entries.set(id, progress)
    }
  }

  /**
   * What was done in another run is no answer: a handler that is told the rest of a change begins anew, and what was done to
   * create is not what is to be done to delete.
   */
  recall(id: string, run: Run): string | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.startedMs !== run.startedMs) return undefined
    return (entry.purpose === 'delete') === (run.purpose === 'delete') ? entry.result : undefined
  }

  /** `started` is that of the run, by which it is known later; clocks of two machines need not agree for that. */
  note(id: string, run: Run, { result, nowMs }: { readonly result: string; readonly nowMs: number }): void {
    const { startedMs, purpose } = run
    const done = { retries: 1, success: true, failure: false, subrefs: [] }
    this.#entries.set(id, { startedMs, purpose, stoppedMs: nowMs, result, ...done })
    this.#noted.add(id)
  }

  forget(ids: Iterable<string>): void {
    for (const id of ids) {
      if (this.#entries.delete(id)) this.#forgotten.add(id)
    }
  }

  store(body: KubeObject, patch: JsonObject): void {
    for (const key of this.#forgotten) this.#storage.purge({ key, body, patch })
    for (const key of this.#noted) {
      const progress = this.#entries.get(key)
      if (progress !== undefined) this.#storage.store({ key, record: toRecord(progress), body, patch })
    }
  }

  purge(body: KubeObject, patch: JsonObject): void {
    for (const key of [...this.#entries.keys(), ...this.#forgotten]) this.#storage.purge({ key, body, patch })
  }
}
