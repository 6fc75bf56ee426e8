/**
 * The records of step results in one handling of one object. Each result has a record of its own; the record of its handler lists the id as it lists
 * sub-handlers, so that any operator that finishes the handling purges it, including Kopf. A stored result counts only after its signature is verified.
 * Used by changes/ and step-run.ts. Sends nothing.
 */
import { fromRecord, type Progress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'

/** Identifies the run of a handler: a result counts only in the run that produced it. */
type StepsOfHandler = Pick<Progress, 'startedMs' | 'purpose'>

/** Signs and verifies step results for one call of a handler and one object. Created by step-keys.ts. */
export interface StepSeal {
  /** Resolves when the keys are loaded. Rejects with a temporary error if the handler has to be retried. */
  open(): Promise<void>
  /** Returns undefined if signing is off. Call it after `open`. */
  sign(id: string, result: Progress): string | undefined
  /** Whether this operator has signed this result for this object. Call it after `open`. */
  verify(id: string, result: Progress): Promise<boolean>
}

export class StepRecords {
  readonly #storage: ProgressStorage
  readonly #nowMs: number
  /** Results that this process produced, remembers or has verified, by `<handler id>/<step id>`. */
  readonly #trusted = new Map<string, Progress>()
  /** Results as stored on the object. A user may have written them, so they count only after `verify`. */
  readonly #stored = new Map<string, Progress>()
  /** Ids of results that this process has not seen on the object yet. */
  readonly #unwritten = new Set<string>()
  /** Ids of results whose handlers have finished: the next patch purges them. */
  readonly #forgotten = new Set<string>()

  constructor(storage: ProgressStorage, nowMs: number) {
    this.#storage = storage
    this.#nowMs = nowMs
  }

  /** The trusted results, which the caller may keep in memory for the next cycle. */
  entries(): IterableIterator<[string, Progress]> {
    return this.#trusted.entries()
  }

  /** The ids of all steps that have a record on the object, or will have one after the next write. */
  ids(): string[] {
    return [...new Set([...this.#trusted.keys(), ...this.#stored.keys()])].sort()
  }

  isStep(id: string): boolean {
    return this.#trusted.has(id) || this.#stored.has(id) || this.#forgotten.has(id)
  }

  isForgotten(id: string): boolean {
    return this.#forgotten.has(id)
  }

  /** Reads the records of those ids that are steps. `remembered` has the results of an earlier cycle of the same handling in this process. */
  read(ids: Iterable<string>, body: KubeObject, remembered: ReadonlyMap<string, Progress> | undefined): void {
    for (const id of ids) {
      if (this.isStep(id)) continue
      const record = this.#storage.fetch({ key: id, body }) ?? undefined
      const stored = record && fromRecord(record, this.#nowMs)
      const known = remembered?.get(id)
      if (isResult(stored)) this.#stored.set(id, stored)
      if (isResult(known)) this.#trusted.set(id, known)
    }
  }

  /**
   * Returns the result of a step in this run; undefined if the step has to run. Results in memory are preferred, since users cannot change them. A result
   * of another run does not count: a handler that starts again for a further change, or for the deletion, runs its steps again.
   */
  async recall(id: string, run: StepsOfHandler, seal: StepSeal): Promise<string | undefined> {
    const known = this.#trusted.get(id)
    if (known !== undefined && isOf(known, run)) return this.#renew(id, known, seal)
    const stored = this.#stored.get(id)
    if (stored === undefined || !isOf(stored, run) || !(await seal.verify(id, stored))) return undefined
    this.#trusted.set(id, stored)
    return this.#renew(id, stored, seal)
  }

  /** Records the result of a step. It gets the `started` time of the run, which later identifies the run, so clocks of two machines need not agree. */
  note(
    id: string,
    run: StepsOfHandler,
    { result, nowMs, seal }: { readonly result: string; readonly nowMs: number; readonly seal: StepSeal },
  ): void {
    const { startedMs, purpose } = run
    const done = { retries: 1, success: true, failure: false, subrefs: [] }
    const progress: Progress = { startedMs, purpose, stoppedMs: nowMs, result, ...done }
    this.#trusted.set(id, { ...progress, signature: seal.sign(id, progress) })
    this.#unwritten.add(id)
  }

  /** Signs a result again if the spec or the signing key has changed. The new signature is stored by the next write. */
  #renew(id: string, known: Progress, seal: StepSeal): string | undefined {
    const signature = seal.sign(id, known)
    if (signature !== known.signature) {
      this.#trusted.set(id, { ...known, signature })
      this.#unwritten.add(id)
    }
    return known.result
  }

  forget(ids: Iterable<string>): void {
    for (const id of ids) {
      const [wasTrusted, wasStored] = [this.#trusted.delete(id), this.#stored.delete(id)]
      if (wasTrusted || wasStored) this.#forgotten.add(id)
    }
  }

  store(body: KubeObject, patch: JsonObject): void {
    for (const key of this.#forgotten) this.#storage.purge({ key, body, patch })
    for (const key of this.#unwritten) {
      const progress = this.#trusted.get(key)
      if (progress !== undefined) this.#storage.store({ key, record: toRecord(progress), body, patch })
    }
  }

  purge(body: KubeObject, patch: JsonObject): void {
    for (const key of [...this.ids(), ...this.#forgotten]) this.#storage.purge({ key, body, patch })
  }
}

function isResult(progress: Progress | undefined): progress is Progress {
  return progress?.result !== undefined && progress.success
}

function isOf(entry: Progress, run: StepsOfHandler): boolean {
  return entry.startedMs === run.startedMs && (entry.purpose === 'delete') === (run.purpose === 'delete')
}
