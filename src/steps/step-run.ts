/**
 * The step results of one reconciler of one object, from its first call until a call succeeds. The record of the reconciler lists the ids of its steps, so that
 * another process can find and purge them. Used by reconciling/steps.ts. Sends nothing.
 */
import { PermanentError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { fromRecord, type Progress, startProgress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'
import { StepRecords, type StepSeal } from './step-records.ts'

export interface ReconcileStepsOptions {
  /** The id of the reconciler. */
  readonly id: string
  readonly storage: ProgressStorage
  readonly body: KubeObject
  /** Results of steps before the deletion do not count during the deletion, and are purged. */
  readonly deleting: boolean
  readonly nowMs: number
}

export class ReconcileSteps {
  readonly deleting: boolean
  /** A result was recorded that no write has stored on the object yet. */
  isUnwritten = false
  readonly #id: string
  readonly #storage: ProgressStorage
  readonly #records: StepRecords
  readonly #progress: Progress

  constructor({ id, storage, body, deleting, nowMs }: ReconcileStepsOptions) {
    this.deleting = deleting
    this.#id = id
    this.#storage = storage
    this.#records = new StepRecords(storage, nowMs)
    const record = storage.fetch({ key: id, body }) ?? undefined
    const known = record && fromRecord(record, nowMs)
    const isSame = known !== undefined && (known.purpose === 'delete') === deleting
    this.#progress = isSame ? known : startProgress(deleting ? 'delete' : 'update', nowMs)
    this.#records.read(known?.subrefs ?? [], body, undefined)
    if (!isSame) this.#records.forget(known?.subrefs ?? [])
  }

  recall(key: string, seal: StepSeal): Promise<string | undefined> {
    return this.#records.recall(key, this.#progress, seal)
  }

  record(key: string, entry: { readonly result: string; readonly nowMs: number; readonly seal: StepSeal }): void {
    this.#records.note(key, this.#progress, entry)
    this.isUnwritten = true
  }

  store(body: KubeObject, patch: JsonObject): void {
    const subrefs = this.#records.ids()
    this.#records.store(body, patch)
    const record = toRecord({ ...this.#progress, subrefs })
    this.#storage.store({ key: this.#id, record, body, patch })
    this.#storage.flush()
  }
}

/** Adds the removal of the reconciler's record and of all its step records to the patch. */
export function purgeSteps(storage: ProgressStorage, id: string, body: KubeObject, patch: JsonObject): void {
  const record = storage.fetch({ key: id, body }) ?? undefined
  if (record === undefined) return
  for (const key of [...(record.subrefs ?? []), id]) storage.purge({ key, body, patch })
  storage.flush()
}

/** Why a reconciler cannot have steps, as the end of a sentence; undefined if it can. `others` are the change handlers of the same resource. */
export function whyNoSteps({ id, needsFinalizer }: Handler, others: readonly Handler[]): string | undefined {
  if (!needsFinalizer) return 'only reconcilers with "cleanup: true" have steps, as others keep nothing on the object'
  const isTaken = others.some((other) => other.id === id || other.id.startsWith(`${id}/`))
  return isTaken ? 'a change handler has the same id; give one of them another id' : undefined
}

/** The argument `step` of a reconciler that cannot have steps: throws a PermanentError, since a retry would fail again. */
export function refuseSteps({ id }: Handler, why: string): object {
  return {
    step: (name: unknown): never => {
      const message = `Cannot run step "${String(name)}" of reconciler "${id}": ${why}`
      throw new PermanentError(message, { code: 'KOPF_STEP' })
    },
  }
}
