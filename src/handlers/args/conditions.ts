/**
 * The `conditions` argument of one handler call. It adds a patch function to the patch of the call, which edits the newest state of the
 * object: conditions of other writers are kept, and a condition that is up to date causes no write.
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

/**
 * The `conditions` argument of handlers: reads and sets entries of `status.conditions` by their type. Changes are written with the patch,
 * when the handler has ended.
 */
export interface Conditions {
  /**
   * Sets a condition. `lastTransitionTime` changes only if the status changes; `observedGeneration` is the generation of the object that
   * the handler got. A condition that is up to date is not written.
   *
   * @example
   * ```ts
   * conditions.set({ type: 'Ready', status: false, reason: 'DiskFull', message: 'Only 2 % are left' })
   * ```
   */
  set(condition: ConditionToSet): void
  /**
   * Sets a condition by its type, status, reason and message.
   *
   * @example
   * ```ts
   * conditions.set('Ready', false, 'DiskFull', 'Only 2 % are left')
   * ```
   */
  set(type: string, status: boolean | ConditionStatus, reason: string, message?: string): void
  /** Returns a condition of the object, including changes by this call. Undefined if there is none of that type. */
  get(type: string): Condition | undefined
  /** Removes a condition from the status. */
  remove(type: string): void
}

/** A condition to set with `conditions.set()`. */
export interface ConditionToSet {
  /** The type of the condition, unique within the object: `Ready`. */
  readonly type: string
  /** Whether the condition holds: true, false, or `True`, `False`, `Unknown`. */
  readonly status: boolean | ConditionStatus
  /** The reason of the status, as one word in CamelCase: `DiskFull`. */
  readonly reason: string
  /** A sentence for users. Default: empty. */
  readonly message?: string
}

export interface ConditionsOptions {
  readonly patch: Patch<KubeObject>
  /** The object in the state that the handler got. */
  readonly body: () => KubeObject
  readonly clock: { now(): number }
  readonly handler: { readonly observesGeneration: () => boolean }
}

type Edit = (conditions: readonly Condition[]) => readonly Condition[]

export function createConditions(options: ConditionsOptions): Conditions {
  return new PatchedConditions(options)
}

class PatchedConditions implements Conditions {
  readonly #options: ConditionsOptions
  /** The edits in the order of the calls. Undefined before the first one: most calls set no condition. */
  #edits: Edit[] | undefined

  constructor(options: ConditionsOptions) {
    this.#options = options
  }

  set(
    ...args: readonly [ConditionToSet] | readonly [string, boolean | ConditionStatus, string, (string | undefined)?]
  ): void {
    const { body, clock } = this.#options
    const { type, status, reason, message } = toCondition(args)
    const desired = {
      ...checkCondition(type, status, reason, message),
      nowMs: clock.now(),
      generation: generationOf(body()),
    }
    this.#add((conditions) => withCondition(conditions, desired))
  }

  get(type: string): Condition | undefined {
    const current = conditionsOf(this.#options.body()['status'])
    return findCondition(applyAll(this.#edits ?? [], current), type)
  }

  remove(type: string): void {
    checkType(type)
    this.#add((conditions) => {
      const removed = findCondition(conditions, type)
      return removed === undefined ? conditions : conditions.filter((one) => one !== removed)
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

function toCondition(args: readonly unknown[]): ConditionToSet {
  if (isPlainObject(args[0])) return args[0] as unknown as ConditionToSet
  const [type, status, reason, message] = args as readonly [
    string,
    boolean | ConditionStatus,
    string,
    (string | undefined)?,
  ]
  return { type, status, reason, ...(message !== undefined && { message }) }
}

function applyAll(edits: readonly Edit[], conditions: readonly Condition[]): readonly Condition[] {
  return edits.reduce((list, edit) => edit(list), conditions)
}

/**
 * The new `status.observedGeneration`; undefined for no change. The field is set only if the object or the schema of the resource has it,
 * since the API server would drop it otherwise. The value never decreases.
 */
function toObserved(
  current: unknown,
  generation: number | undefined,
  { observesGeneration }: ConditionsOptions['handler'],
): number | undefined {
  if (generation === undefined) return undefined
  if (typeof current === 'number') return current < generation ? generation : undefined
  return observesGeneration() ? generation : undefined
}

function generationOf({ metadata }: KubeObject): number | undefined {
  const { generation } = metadata
  return typeof generation === 'number' ? generation : undefined
}
