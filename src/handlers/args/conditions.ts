/**
 * The argument `conditions` of one call: what it is told is put into the patch, as an edit of the freshest state; so
 * conditions of others are never lost, and what is there already is not written. Made where the patch of a call is.
 */
import {
  type Condition,
  type ConditionStatus,
  checkCondition,
  checkType,
  conditionsOf,
  findCondition,
  withCondition,
} from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Patch } from '../../patching/patch.ts'
import { isPlainObject } from '../../util/json/json.ts'
import type { Handler } from '../handler.ts'

/** What the status says of the object, by type. Written with the patch. */
export interface Conditions {
  /**
   * Says so from now on. `lastTransitionTime` changes only with the status, and `observedGeneration` is that of the object as
   * the handler sees it. Nothing is written where it is said already.
   *
   * @example
   * ```ts
   * conditions.set('Ready', false, 'DiskFull', 'Only 2 % are left')
   * ```
   */
  set(type: string, status: boolean | ConditionStatus, reason: string, message?: string): void
  /** As it is, and as this call has set it. */
  get(type: string): Condition | undefined
  /** Says nothing of this any more. */
  remove(type: string): void
}

export interface ConditionsOptions {
  readonly patch: Patch<KubeObject>
  /** As the handler sees it. */
  readonly body: () => KubeObject
  readonly clock: { now(): number }
  readonly handler: Pick<Handler, 'observesGeneration'>
}

type Edit = (conditions: readonly Condition[]) => readonly Condition[]

export function createConditions(options: ConditionsOptions): Conditions {
  return new PatchedConditions(options)
}

class PatchedConditions implements Conditions {
  readonly #options: ConditionsOptions
  /** In the order they were asked for; made with the first of them. */
  #edits: Edit[] | undefined

  constructor(options: ConditionsOptions) {
    this.#options = options
  }

  set(type: string, status: boolean | ConditionStatus, reason: string, message?: string): void {
    const { body, clock } = this.#options
    const wanted = {
      ...checkCondition(type, status, reason, message),
      nowMs: clock.now(),
      generation: generationOf(body()),
    }
    this.#add((conditions) => withCondition(conditions, wanted))
  }

  get(type: string): Condition | undefined {
    const current = conditionsOf(this.#options.body()['status'])
    return findCondition(applyAll(this.#edits ?? [], current), type)
  }

  remove(type: string): void {
    checkType(type)
    this.#add((conditions) => {
      const gone = findCondition(conditions, type)
      return gone === undefined ? conditions : conditions.filter((one) => one !== gone)
    })
  }

  #add(edit: Edit): void {
    if (this.#edits !== undefined) {
      this.#edits.push(edit)
      return
    }
    const edits = [edit]
    const { patch, handler, body } = this.#options
    const generation = generationOf(body())
    this.#edits = edits
    patch.fns.push((fresh) => {
      const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
      const before = conditionsOf(status)
      const after = applyAll(edits, before)
      const observed = toObserved(status['observedGeneration'], generation, handler)
      if (after === before && observed === undefined) return
      fresh['status'] = {
        ...status,
        ...(after !== before && { conditions: after as never }),
        ...(observed !== undefined && { observedGeneration: observed }),
      }
    })
  }
}

function applyAll(edits: readonly Edit[], conditions: readonly Condition[]): readonly Condition[] {
  return edits.reduce((list, edit) => edit(list), conditions)
}

/** Only where the schema is known to have the field, or the object has it; and never back. */
function toObserved(
  current: unknown,
  generation: number | undefined,
  { observesGeneration }: Pick<Handler, 'observesGeneration'>,
): number | undefined {
  if (generation === undefined) return undefined
  if (typeof current === 'number') return current < generation ? generation : undefined
  return observesGeneration() ? generation : undefined
}

function generationOf({ metadata }: KubeObject): number | undefined {
  const { generation } = metadata
  return typeof generation === 'number' ? generation : undefined
}
