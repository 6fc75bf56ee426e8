/**
 * The results of the steps of all handlers in one handling of one object: read from the object, added to by steps.ts,
 * and put into the next patch. A result has a record beside that of the handler, which names it as it names those of
 * sub-handlers: so the operator that ends the handling removes the record, also if that is Kopf. A result that is read counts once its signature is verified.
 */

import { fromRecord, type Progress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'

/** The run of a handler that a step belongs to. */
type StepsOfHandler = Pick<Progress, 'startedMs' | 'purpose'>

/** Signs and verifies results for one object, as one call of a handler sees it. */
export interface StepSeal {
  /** Resolves when results can be signed and verified. Rejects where the handler has to be tried again. */
  open(): Promise<void>
  /** Undefined where results are not signed. Only after `open`. */
  sign(id: string, result: Progress): string | undefined
  /** Whether this operator has signed this result for this object. Only after `open`. */
  verify(id: string, result: Progress): Promise<boolean>
}

export class StepRecords {
  readonly #storage: ProgressStorage
  readonly #nowMs: number
  /** Results that this process made, remembers or has verified, by id: that of the handler, and that of the step behind it. */
  readonly #trusted = new Map<string, Progress>()
  /** Results as the object has them. The author of the object may have written them: they count only after `verify`. */
  readonly #stored = new Map<string, Progress>()
  /** Ids of results that are not on the object yet, as far as we know. */
  readonly #noted = new Set<string>()
  /** Ids of results of handlers that have finished. */
  readonly #forgotten = new Set<string>()

  constructor(storage: ProgressStorage, nowMs: number) {
    this.#storage = storage
    this.#nowMs = nowMs
  }

  /** Only what may be remembered as a result of this operator. */
  entries(): IterableIterator<[string, Progress]> {
    return this.#trusted.entries()
  }

  /** Steps that have a record, or will have one. */
  ids(): string[] {
    return [...new Set([...this.#trusted.keys(), ...this.#stored.keys()])].sort()
  }

  isStep(id: string): boolean {
    return this.#trusted.has(id) || this.#stored.has(id) || this.#forgotten.has(id)
  }

  isForgotten(id: string): boolean {
    return this.#forgotten.has(id)
  }

  /** Those among the ids that are steps. `remembered` is what this process knows of an earlier cycle of the same handling. */
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
   * The result of a step of this run; undefined where there is none that counts. Memory goes first: the author of the object
   * cannot change it. A result of another run does not count: a handler that is called for the rest of a change starts its steps
   * again, and what was done to create the object is not what has to be done to delete it.
   */
  async recall(id: string, run: StepsOfHandler, seal: StepSeal): Promise<string | undefined> {
    const known = this.#trusted.get(id)
    if (known !== undefined && isOf(known, run)) return this.#renew(id, known, seal)
    const stored = this.#stored.get(id)
    if (stored === undefined || !isOf(stored, run) || !(await seal.verify(id, stored))) return undefined
    this.#trusted.set(id, stored)
    return this.#renew(id, stored, seal)
  }

  /** `started` is that of the run, by which the result is known later; clocks of two machines need not agree for that. */
  note(
    id: string,
    run: StepsOfHandler,
    { result, nowMs, seal }: { readonly result: string; readonly nowMs: number; readonly seal: StepSeal },
  ): void {
    const { startedMs, purpose } = run
    const done = { retries: 1, success: true, failure: false, subrefs: [] }
    const progress: Progress = { startedMs, purpose, stoppedMs: nowMs, result, ...done }
    this.#trusted.set(id, { ...progress, signature: seal.sign(id, progress) })
    this.#noted.add(id)
  }

  /** After a change of the spec, or of the key, the result is signed again; it goes with the next write, whenever that is. */
  #renew(id: string, known: Progress, seal: StepSeal): string | undefined {
    const signature = seal.sign(id, known)
    if (signature !== known.signature) {
      this.#trusted.set(id, { ...known, signature })
      this.#noted.add(id)
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
    for (const key of this.#noted) {
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
