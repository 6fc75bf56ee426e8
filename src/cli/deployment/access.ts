/** Who the operator is to the API server, and what it may: an account, a role for each scope, and their bindings. */
import { toRules } from '../../kube/access-rules.ts'
import type { PlannedRole } from '../../operator.ts'
import { type DeploymentPlan, type Documented, labelsOf } from './plan.ts'

const group = 'rbac.authorization.k8s.io'

export function writeAccess(plan: DeploymentPlan): Documented[] {
  const { name, namespace } = plan
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace, labels: labelsOf(plan) },
  }
  return [{ object: account }, ...plan.roles.flatMap((role) => [writeRole(plan, role), writeBinding(plan, role)])]
}

function writeRole(plan: DeploymentPlan, role: PlannedRole): Documented {
  const rules = toRules(role.needs)
  const object = {
    apiVersion: `${group}/v1`,
    kind: kindOf(role),
    metadata: metadataOf(plan, role),
    rules: rules.map(({ why: _, ...rule }) => rule),
  }
  // Once for all that have it in common.
  const isNews = (position: number) => position === 0 || rules[position]!.why !== rules[position - 1]!.why
  const remarks = rules.flatMap(({ why }, position) =>
    why !== undefined && isNews(position) ? [{ path: ['rules', position], text: toSentence(why) }] : [],
  )
  return { object, remarks }
}

function writeBinding(plan: DeploymentPlan, role: PlannedRole): Documented {
  const { name, namespace } = plan
  const object = {
    apiVersion: `${group}/v1`,
    kind: `${kindOf(role)}Binding`,
    metadata: metadataOf(plan, role),
    roleRef: { apiGroup: group, kind: kindOf(role), name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
  return { object }
}

function toSentence(phrase: string): string {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`
}

function kindOf({ namespace }: PlannedRole): 'ClusterRole' | 'Role' {
  return namespace === undefined ? 'ClusterRole' : 'Role'
}

function metadataOf(plan: DeploymentPlan, { namespace }: PlannedRole) {
  return { name: plan.name, ...(namespace === undefined ? {} : { namespace }), labels: labelsOf(plan) }
}
