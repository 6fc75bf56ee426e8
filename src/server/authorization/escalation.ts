/**
 * Nobody gives to others, or to themselves, what they do not have: looked at where a role or a binding is written by a client.
 * The verbs `escalate` on roles and `bind` on what is bound lift that. Where RBAC is off, everybody is exempt.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Call } from '../call.ts'
import type { ServedResource } from '../resource.ts'
import { forbidden, notFound, StatusError } from '../status.ts'
import { parseStored } from '../storage/stored.ts'
import type { RoleRef } from './bindings.ts'
import { describePermissions, formatList, missingPermissions } from './coverage.ts'
import type { PolicyRule } from './policy-rules.ts'
import { rbacGroup } from './rbac.ts'

const checks: Readonly<Record<string, (call: Call, object: KubeObject, old: KubeObject | undefined) => void>> = {
  roles: checkRole,
  clusterroles: checkRole,
  rolebindings: checkBinding,
  clusterrolebindings: checkBinding,
}

export function isGuarded({ group }: ServedResource): boolean {
  return group === rbacGroup
}

/** Throws a 403 where the client would give what it does not have. */
export function refuseEscalation(call: Call, object: KubeObject, old?: KubeObject): void {
  const { resource, authorizer, user } = call
  if (!isGuarded(resource) || authorizer.isExempt(user)) return
  if (old !== undefined && isOnlyHousekeeping(object, old)) return
  checks[resource.plural]?.(call, object, old)
}

/** The garbage collector need not hold what a role allows to free it from its owners. */
function isOnlyHousekeeping(object: KubeObject, old: KubeObject): boolean {
  return isDeepEqual(withoutHousekeeping(object), withoutHousekeeping(old))
}

function withoutHousekeeping({ metadata, ...rest }: KubeObject): object {
  const { ownerReferences, finalizers, selfLink, managedFields, ...others } = metadata
  return { ...rest, metadata: others }
}

interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] } | null
}

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

function checkRole(call: Call, role: Role, old: Role | undefined): void {
  const { resource, path, authorizer, user } = call
  const { name, namespace } = path
  const attempt = { verb: 'escalate', group: rbacGroup, resource: resource.plural, subresource: '', namespace, name }
  if (authorizer.authorize(user, attempt).isAllowed) return
  demandHeld(call, role, (role.rules ?? []).map(withVerbs))
  const isAggregated = hasAggregation(role) || (old !== undefined && hasAggregation(old))
  if (isAggregated && findMissing(call, fullAuthority) !== '') {
    const why = 'must have cluster-admin privileges to use the aggregationRule'
    throw forbidden(resource, role.metadata.name ?? '', why)
  }
}

/** A rule without verbs comes with null: it will be refused, but later. */
function withVerbs(rule: PolicyRule): PolicyRule {
  return rule.verbs === null ? { ...rule, verbs: [] } : rule
}

function hasAggregation({ aggregationRule }: Role): boolean {
  return (aggregationRule?.clusterRoleSelectors ?? []).length > 0
}

function checkBinding(call: Call, binding: KubeObject): void {
  const { resource, path, authorizer, user } = call
  const { namespace } = path
  const { apiGroup = '', kind = '', name = '' } = (binding['roleRef'] ?? {}) as Partial<RoleRef>
  if (kind !== 'Role' && kind !== 'ClusterRole') {
    // The real server means 400 here and says 500.
    throw new StatusError(500, '', `unsupported role reference kind: "${kind}"`)
  }
  const plural = `${kind.toLowerCase()}s`
  const attempt = { verb: 'bind', group: apiGroup, resource: plural, subresource: '', namespace, name }
  if (authorizer.authorize(user, attempt).isAllowed) return
  const rules = rulesOf(call, { apiGroup, kind, name })
  // It is the role that is not there; the real server names it after what was asked for.
  if (rules === undefined) throw notFound(resource, name)
  demandHeld(call, binding, rules)
}

function rulesOf({ store, path }: Call, { kind, name }: RoleRef): readonly PolicyRule[] | undefined {
  const [plural, key] = kind === 'Role' ? ['roles', `${path.namespace}/${name}`] : ['clusterroles', name]
  const stored = store.collection(`${rbacGroup}/${plural}`).get(key)
  return stored && ((parseStored(stored) as Role).rules ?? [])
}

function demandHeld(call: Call, object: KubeObject, rules: readonly PolicyRule[]): void {
  const missing = findMissing(call, rules)
  if (missing !== '') throw forbidden(call.resource, object.metadata.name ?? '', missing)
}

/** What the client lacks of these rules, told as a reason; '' where it has all. */
function findMissing({ authorizer, user, path }: Call, wanted: readonly PolicyRule[]): string {
  const { rules, error } = authorizer.rulesFor(user, path.namespace)
  const missing = missingPermissions(rules, wanted)
  if (missing?.length === 0) return ''
  const what = missing === undefined ? '(more than can be compared)' : describePermissions(missing)
  const who = `user "${user.username}" (groups=${formatList(user.groups)})`
  const suffix = error === '' ? '' : `; resolution errors: [${error}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${what}${suffix}`
}
