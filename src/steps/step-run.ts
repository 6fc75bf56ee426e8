/**
 * The steps of a reconciler, from its first call for an object until one returns without an error: what they have come to, on the
 * object and in memory. A record under the id of the reconciler names them, so that all are found by whoever ends it. Sends nothing.
 */

import { PermanentError } from '../errors.ts'
import type { Handler } from '../handlers/handler.ts'
import { fromRecord, type Progress, startProgress, toRecord } from '../handlers/progress.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ProgressStorage } from '../persistence/progress-storage.ts'
import { StepRecords, type StepSeal } from './step-records.ts'

export interface ReconcileStepsOptions {
  /** Of the reconciler. */
  readonly id: string
  readonly storage: ProgressStorage
  readonly body: KubeObject
  /** What was done for the object while it was to stay is not what is to be done at its end. */
  readonly deleting: boolean
  readonly nowMs: number
}

export class ReconcileSteps {
  readonly deleting: boolean
  /** Something was noted that is not on the object, as far as we know. */
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

  note(key: string, noted: { readonly result: string; readonly nowMs: number; readonly seal: StepSeal }): void {
    this.#records.note(key, this.#progress, noted)
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

/** Whatever there is of its steps on the object. */
export function purgeSteps(storage: ProgressStorage, id: string, body: KubeObject, patch: JsonObject): void {
  const record = storage.fetch({ key: id, body }) ?? undefined
  if (record === undefined) return
  for (const key of [...(record.subrefs ?? []), id]) storage.purge({ key, body, patch })
  storage.flush()
}

/** Why it can have no steps; undefined where it can. `others` are the handlers of changes of the same resource. */
export function whyNoSteps({ id, needsFinalizer }: Handler, others: readonly Handler[]): string | undefined {
  if (!needsFinalizer) return 'only reconcilers with "cleanup: true" have steps, as others keep nothing on the object'
  const isTaken = others.some((other) => other.id === id || other.id.startsWith(`${id}/`))
  return isTaken ? 'a handler of changes has that id, too; give one of them another id' : undefined
}

/** In the place of `step`, for those that can have none. Another attempt would be no better. */
export function refuseSteps({ id }: Handler, why: string): object {
  return {
    step: (name: unknown): never => {
      const message = `Cannot run step "${String(name)}" of reconciler "${id}": ${why}`
      throw new PermanentError(message, { code: 'KOPF_STEP' })
    },
  }
}
