/** Asking the API server what we ourselves may do. One attempt each: the answer is advice, and nobody waits for it. */
import type { AccessRule } from '../kube/access-rules.ts'
import type { JsonObject } from '../kube/objects.ts'
import { getOwn, isPlainObject } from '../util/json.ts'
import type { Session } from './calls.ts'

const root = '/apis/authorization.k8s.io/v1'

export interface ReviewedRules {
  readonly rules: readonly AccessRule[]
  /** There is somebody else who has a say, and does not tell beforehand: what is not among the rules may be allowed. */
  readonly isIncomplete: boolean
}

export interface Access {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
}

/** No namespace can have this name, so no role is bound in it: what is allowed there is allowed in the whole cluster. */
const nowhere = 'cluster.wide'

/** All rules that hold in a namespace, or in the whole cluster. */
export async function reviewRules(
  session: Session,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ReviewedRules> {
  const spec = { namespace: namespace ?? nowhere }
  const status = await review(session, 'SelfSubjectRulesReview', spec, signal)
  const rules = getOwn(status, 'resourceRules')
  return {
    rules: Array.isArray(rules) ? rules.filter(isPlainObject).map(toRule) : [],
    isIncomplete: getOwn(status, 'incomplete') === true,
  }
}

export async function reviewAccess(session: Session, access: Access, signal: AbortSignal): Promise<boolean> {
  const status = await review(session, 'SelfSubjectAccessReview', { resourceAttributes: access }, signal)
  return getOwn(status, 'allowed') === true
}

async function review(session: Session, kind: string, spec: object, signal: AbortSignal): Promise<JsonObject> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec }
  const path = `${root}/${kind.toLowerCase()}s`
  const answer = await session.request({ method: 'POST', path, body, backoffsMs: [] }, signal)
  const status = getOwn(answer, 'status')
  return isPlainObject(status) ? status : {}
}

function toRule(rule: JsonObject): AccessRule {
  return {
    apiGroups: textsOf(rule, 'apiGroups'),
    resources: textsOf(rule, 'resources'),
    verbs: textsOf(rule, 'verbs'),
    resourceNames: textsOf(rule, 'resourceNames'),
  }
}

function textsOf(rule: JsonObject, key: string): readonly string[] {
  const values = getOwn(rule, key)
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : []
}
