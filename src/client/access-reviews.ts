/** Asks the API server for the operator's own permissions. Called by rbac/ for warnings at the start; one attempt, no retries. */

import type { JsonObject } from '../kube/objects.ts'
import type { AccessRule } from '../kube/rbac-rules.ts'
import { getObject, getObjects, getOwn, getStrings } from '../util/json/json.ts'
import type { Session } from './session.ts'

const apiPath = '/apis/authorization.k8s.io/v1'

export interface ReviewedRules {
  readonly rules: readonly AccessRule[]
  /** An authorizer such as a webhook cannot list its rules: access beyond `rules` may be allowed. */
  readonly isIncomplete: boolean
}

export interface ReviewedAccess {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Undefined for cluster-wide access. */
  readonly namespace: string | undefined
}

/** Not a valid name of a namespace, so no RoleBinding exists in it: the rules for it come from ClusterRoleBindings alone. */
const clusterWideNamespace = 'cluster.wide'

/** The rules for the operator in one namespace, or cluster-wide without a namespace. */
export async function reviewRules(
  session: Session,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ReviewedRules> {
  const spec = { namespace: namespace ?? clusterWideNamespace }
  const status = await review(session, 'SelfSubjectRulesReview', spec, signal)
  return {
    rules: getObjects(status, 'resourceRules').map(toRule),
    isIncomplete: getOwn(status, 'incomplete') === true,
  }
}

export async function reviewAccess(session: Session, access: ReviewedAccess, signal: AbortSignal): Promise<boolean> {
  const status = await review(session, 'SelfSubjectAccessReview', { resourceAttributes: access }, signal)
  return getOwn(status, 'allowed') === true
}

async function review(session: Session, kind: string, spec: object, signal: AbortSignal): Promise<JsonObject> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec }
  const path = `${apiPath}/${kind.toLowerCase()}s`
  const response = await session.request({ method: 'POST', path, body, backoffsMs: [], purpose: 'review' }, signal)
  return getObject(response, 'status') ?? {}
}

function toRule(rule: JsonObject): AccessRule {
  return {
    apiGroups: getStrings(rule, 'apiGroups'),
    resources: getStrings(rule, 'resources'),
    verbs: getStrings(rule, 'verbs'),
    resourceNames: getStrings(rule, 'resourceNames'),
  }
}
