/** The result of one sync of an object's children: waits, failures and problems, and the condition `ChildrenApplied` that reports them. */
import { TemporaryError } from '../../errors.ts'
import { type Condition, checkCondition, conditionsOf, findCondition, withCondition } from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

type ProblemReason = 'ChildRefused' | 'KindMissing' | 'ChildContested'

/** A problem that the condition reports until a sync finds it solved. */
export interface ChildProblem {
  readonly reason: ProblemReason
  readonly message: string
}

/** The maximum number of objects that a condition names. */
const maxNamed = 10

export class SyncReport {
  /** Descriptions of the objects that have names of children and stay unmanaged (`existing: 'leave'`). */
  readonly unmanaged: string[] = []
  readonly problems: ChildProblem[] = []
  readonly #failures: string[] = []
  /** Reasons why later groups wait, as sentences. */
  waits: readonly string[] = []
  /** Some desired children belong to kinds that the operator cannot list. */
  isUnsynced: boolean = false
  /** The reconciler is called again after this time even without a change. */
  wakeMs: number = Infinity

  get hasFailed(): boolean {
    return this.#failures.length > 0
  }

  fail(message: string): void {
    this.#failures.push(message)
    this.problems.push({ reason: 'ChildRefused', message })
  }

  recheckAfter(delayMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, delayMs)
  }

  /** One temporary error for all failures, in their order: a rejection by the server may be over after a while. */
  toError(delayMs: number): TemporaryError {
    return new TemporaryError(this.#failures.join('; '), { delay: delayMs / 1000 })
  }

  /** The part of the condition's message about unmanaged objects; undefined if there are none. */
  get unmanagedMessage(): string | undefined {
    if (this.unmanaged.length === 0) return undefined
    const others = this.unmanaged.length - maxNamed
    // Sorted: the order of the responses varies, and would cause writes of the same condition.
    const names = [...this.unmanaged.toSorted().slice(0, maxNamed), ...(others > 0 ? [`${others} more`] : [])].join(
      ', ',
    )
    return `Left alone, as the operator has not created them: ${names}`
  }
}

/**
 * The result of one call for the children: their sync; `unchecked` if the call failed before the sync was done; `untouched` if the function
 * returned no `children`, so that they stay as they are.
 */
export type ChildrenResult = SyncReport | 'unchecked' | 'untouched'

/** The reconcilers of an object share its condition, so it reports the last syncs of all of them. */
export function mergeReports(reports: readonly SyncReport[]): SyncReport {
  const merged = new SyncReport()
  for (const { problems, unmanaged } of reports) {
    merged.problems.push(...problems)
    merged.unmanaged.push(...unmanaged)
  }
  return merged
}

export const problemType = 'ChildrenApplied'

/**
 * Returns an edit that sets the condition `ChildrenApplied`, or undefined if the object has it already. An object whose children never had a
 * problem does not get the condition, so that it costs no write.
 */
export function toCondition(
  body: KubeObject,
  { problems, unmanagedMessage }: Pick<SyncReport, 'problems' | 'unmanagedMessage'>,
  nowMs: number,
): ((fresh: KubeObject) => void) | undefined {
  const current = findCondition(conditionsOf(body['status']), problemType)
  const [first] = problems
  if (
    first === undefined &&
    unmanagedMessage === undefined &&
    (current === undefined || current.reason === 'Applied')
  ) {
    return undefined
  }
  const message = [...problems.map((problem) => problem.message), ...(unmanagedMessage ? [unmanagedMessage] : [])].join(
    '; ',
  )
  const reason = first?.reason ?? (unmanagedMessage === undefined ? 'Applied' : 'ExistingLeft')
  const checked = checkCondition(problemType, first === undefined, reason, message)
  const desired = { ...checked, nowMs, generation: body.metadata.generation }
  if (withCondition(conditionsOf(body['status']), desired) === conditionsOf(body['status'])) return undefined
  return (fresh) => {
    const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
    fresh['status'] = { ...status, conditions: withCondition(conditionsOf(status), desired) }
  }
}

/** Whether the API server has stored the condition: a schema without conditions drops it. */
export function hasChildrenCondition(body: KubeObject): boolean {
  const found: Condition | undefined = findCondition(conditionsOf(body['status']), problemType)
  return found !== undefined
}
