/**
 * What is wrong with the children, as a condition of the object: only where something is, and no longer when it is over. An object
 * whose children never had a problem has no such condition, and costs no write. Pure.
 */
import { type Condition, conditionsOf, findCondition, toWanted, withCondition } from '../../kube/conditions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json.ts'
import type { Report } from './report.ts'

const problemType = 'ChildrenApplied'

/** Undefined where there is nothing to say that is not said already. */
export function toCondition(
  body: KubeObject,
  { problems, leftMessage }: Pick<Report, 'problems' | 'leftMessage'>,
  nowMs: number,
): ((fresh: KubeObject) => void) | undefined {
  const current = findCondition(conditionsOf(body['status']), problemType)
  const [first] = problems
  if (first === undefined && leftMessage === undefined && (current === undefined || current.reason === 'Applied')) {
    return undefined
  }
  const message = [...problems.map((problem) => problem.message), ...(leftMessage ? [leftMessage] : [])].join('; ')
  const reason = first?.reason ?? (leftMessage === undefined ? 'Applied' : 'ExistingLeft')
  const said = toWanted(problemType, first === undefined, reason, message)
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
