/**
 * The steps of a reconciler, from its first call for an object until one returns without an error: what they have come to, on the
 * object and in memory. A record under the id of the reconciler names them, so that all are found by whoever ends it. Sends nothing.
 */

import type { Handler } from '../../core/handling/handler.ts'
import { fromRecord, type Progress, startProgress, toRecord } from '../../core/handling/progress.ts'
import { StepLedger, type StepSeal } from '../../core/handling/step-ledger.ts'
import type { ProgressStorage } from '../../core/persistence/progress-storage.ts'
import { PermanentError } from '../../errors.ts'
import type { JsonObject, KubeObject } from '../../kube/objects.ts'

export interface StepRunOptions {
  /** Of the reconciler. */
  readonly id: string
  readonly storage: ProgressStorage
  readonly body: KubeObject
  /** What was done for the object while it was to stay is not what is to be done at its end. */
  readonly deleting: boolean
  readonly nowMs: number
}

export class StepRun {
  readonly deleting: boolean
  /** Something was noted that is not on the object, as far as we know. */
  isUnwritten = false
  readonly #id: string
  readonly #storage: ProgressStorage
  readonly #ledger: StepLedger
  readonly #progress: Progress

  constructor({ id, storage, body, deleting, nowMs }: StepRunOptions) {
    this.deleting = deleting
    this.#id = id
    this.#storage = storage
    this.#ledger = new StepLedger(storage, nowMs)
    const record = storage.fetch({ key: id, body }) ?? undefined
    const known = record && fromRecord(record, nowMs)
    const isSame = known !== undefined && (known.purpose === 'delete') === deleting
    this.#progress = isSame ? known : startProgress(deleting ? 'delete' : 'update', nowMs)
    this.#ledger.read(known?.subrefs ?? [], body, undefined)
    if (!isSame) this.#ledger.forget(known?.subrefs ?? [])
  }

  recall(key: string, seal: StepSeal): Promise<string | undefined> {
    return this.#ledger.recall(key, this.#progress, seal)
  }

  note(key: string, noted: { readonly result: string; readonly nowMs: number; readonly seal: StepSeal }): void {
    this.#ledger.note(key, this.#progress, noted)
    this.isUnwritten = true
  }

  store(body: KubeObject, patch: JsonObject): void {
    const subrefs = this.#ledger.ids()
    this.#ledger.store(body, patch)
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
