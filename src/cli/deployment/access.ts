/** Who the operator is to the API server, and what it may: an account, a role for each scope, their bindings, and the Secret for its keys. */
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
  const roles = plan.roles.flatMap((role) => [writeRole(plan, role), writeBinding(plan, role)])
  return [{ object: account }, ...roles, ...writeStepSecret(plan)]
}

/** Without data, so that applying it again leaves the keys alone. */
function writeStepSecret(plan: DeploymentPlan): Documented[] {
  const { namespace, stepSecret: name } = plan
  if (name === undefined) return []
  const metadata = { name, namespace, labels: labelsOf(plan) }
  const text = 'The operator puts a key into it when the first step runs, and signs the results of steps with that.'
  return [
    { object: { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque' }, remarks: [{ path: ['type'], text }] },
  ]
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
