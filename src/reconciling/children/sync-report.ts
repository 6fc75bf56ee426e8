/** What came of looking after the children of an object: what was done, what is waited for, what went wrong. */
import { TemporaryError } from '../../errors.ts'
import { type Condition, checkCondition, conditionsOf, findCondition, withCondition } from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

type ProblemReason = 'ChildRefused' | 'KindMissing' | 'ChildContested'

/** Something that people should know of, as long as it is so. */
export interface ChildProblem {
  readonly reason: ProblemReason
  readonly message: string
}

/** More objects than these are not named in a condition. */
const maxNamed = 10

export class SyncReport {
  /** Objects that exist under the names of children and are left alone on purpose, in words. */
  readonly left: string[] = []
  readonly problems: ChildProblem[] = []
  readonly #failures: string[] = []
  /** What has to happen before there is more to do. */
  waits: readonly string[] = []
  /** There are children of kinds of which nothing is known. */
  isUnsynced: boolean = false
  /** When to look again although nothing happens. */
  wakeMs: number = Infinity

  get hasFailed(): boolean {
    return this.#failures.length > 0
  }

  fail(words: string): void {
    this.#failures.push(words)
    this.problems.push({ reason: 'ChildRefused', message: words })
  }

  lookAgainAfter(delayMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, delayMs)
  }

  /** One error for all of them, in their order: whatever it is that the server minds, it may be over after a while. */
  toError(delayMs: number): TemporaryError {
    return new TemporaryError(this.#failures.join('; '), { delay: delayMs / 1000 })
  }

  /** For people, beside the problems; undefined where nothing was left alone. */
  get leftMessage(): string | undefined {
    if (this.left.length === 0) return undefined
    const others = this.left.length - maxNamed
    // In a fixed order: the order in which the server has answered would lead to writes that say the same.
    const names = [...this.left.toSorted().slice(0, maxNamed), ...(others > 0 ? [`${others} more`] : [])].join(', ')
    return `Left alone, as the operator has not created them: ${names}`
  }
}

/**
 * What is wrong with the children, as a condition of the object: only where something is, and no longer when it is over. An object
 * whose children never had a problem has no such condition, and costs no write. Pure.
 */

const problemType = 'ChildrenApplied'

/** Undefined where there is nothing to say that is not said already. */
export function toCondition(
  body: KubeObject,
  { problems, leftMessage }: Pick<SyncReport, 'problems' | 'leftMessage'>,
  nowMs: number,
): ((fresh: KubeObject) => void) | undefined {
  const current = findCondition(conditionsOf(body['status']), problemType)
  const [first] = problems
  if (first === undefined && leftMessage === undefined && (current === undefined || current.reason === 'Applied')) {
    return undefined
  }
  const message = [...problems.map((problem) => problem.message), ...(leftMessage ? [leftMessage] : [])].join('; ')
  const reason = first?.reason ?? (leftMessage === undefined ? 'Applied' : 'ExistingLeft')
  const said = checkCondition(problemType, first === undefined, reason, message)
  const wanted = { ...said, nowMs, generation: body.metadata.generation }
  if (withCondition(conditionsOf(body['status']), wanted) === conditionsOf(body['status'])) return undefined
  return (fresh) => {
    const status = isPlainObject(fresh['status']) ? fresh['status'] : {}
    fresh['status'] = { ...status, conditions: withCondition(conditionsOf(status), wanted) }
  }
}

/** Whether the object has kept it: a schema may know of no conditions. */
export function hasKept(body: KubeObject): boolean {
  const found: Condition | undefined = findCondition(conditionsOf(body['status']), problemType)
  return found !== undefined
}
