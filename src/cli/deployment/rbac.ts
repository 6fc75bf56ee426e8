/** Writes the ServiceAccount, the roles with their bindings, and the Secret for the signing keys of steps. */
import { toRules } from '../../kube/rbac-rules.ts'
import type { PlannedRole } from '../../plan/plan-roles.ts'
import { type CommentedObject, type DeploymentPlan, labelsOf } from './plan.ts'

const group = 'rbac.authorization.k8s.io'

export function writeAccess(plan: DeploymentPlan): CommentedObject[] {
  const { name, namespace } = plan
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace, labels: labelsOf(plan) },
  }
  const roles = plan.roles.flatMap((role) => [writeRole(plan, role), writeBinding(plan, role)])
  return [{ object: account }, ...roles, ...writeStepSecret(plan)]
}

/** The Secret has no data, so that applying it again does not change the keys. */
function writeStepSecret(plan: DeploymentPlan): CommentedObject[] {
  const { namespace, stepSecret: name } = plan
  if (name === undefined) return []
  const metadata = { name, namespace, labels: labelsOf(plan) }
  const text = 'When the first step runs, the operator stores a key here. The key signs the results of steps.'
  return [
    { object: { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque' }, remarks: [{ path: ['type'], text }] },
  ]
}

function writeRole(plan: DeploymentPlan, role: PlannedRole): CommentedObject {
  const rules = toRules(role.needs)
  const object = {
    apiVersion: `${group}/v1`,
    kind: kindOf(role),
    metadata: metadataOf(plan, role),
    rules: rules.map(({ why: _, ...rule }) => rule),
  }
  // Consecutive rules with the same reason get one comment.
  const hasNewReason = (position: number) => position === 0 || rules[position]!.why !== rules[position - 1]!.why
  const remarks = rules.flatMap(({ why }, position) =>
    why !== undefined && hasNewReason(position) ? [{ path: ['rules', position], text: toSentence(why) }] : [],
  )
  return { object, remarks }
}

function writeBinding(plan: DeploymentPlan, role: PlannedRole): CommentedObject {
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
