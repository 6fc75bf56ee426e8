/**
 * What is wrong with the children, as a condition of the object: only where something is, and no longer when it is over. An object
 * whose children never had a problem has no such condition, and costs no write. Pure.
 */
import { type Condition, conditionsOf, findCondition, toWanted, withCondition } from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import type { Problem } from './report.ts'

const problemType = 'ChildrenApplied'

/** Undefined where there is nothing to say that is not said already. */
export function toCondition(
  body: KubeObject,
  problems: readonly Problem[],
  nowMs: number,
): ((fresh: KubeObject) => void) | undefined {
  const current = findCondition(conditionsOf(body['status']), problemType)
  const [first] = problems
  if (first === undefined && (current === undefined || current.status === 'True')) return undefined
  const message = problems.map((problem) => problem.message).join('; ')
  const said =
    first === undefined ? toWanted(problemType, true, 'Applied') : toWanted(problemType, false, first.reason, message)
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
