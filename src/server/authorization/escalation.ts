/**
 * Privilege escalation checks: a client can only write roles and bindings whose permissions it holds itself. The verbs
 * `escalate` (on roles) and `bind` (on the referenced role) lift the check. Without RBAC, every authenticated user is exempt.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { ResourceCall } from '../call.ts'
import type { ApiResource } from '../resource.ts'
import { forbidden, notFound, StatusError } from '../status.ts'
import { parseStored } from '../storage/stored.ts'
import type { RoleRef } from './bindings.ts'
import { describePermissions, formatList, missingPermissions } from './coverage.ts'
import type { PolicyRule } from './policy-rules.ts'
import { rbacGroup } from './rbac.ts'

const checks: Readonly<Record<string, (call: ResourceCall, object: KubeObject, old: KubeObject | undefined) => void>> =
  {
    roles: checkRole,
    clusterroles: checkRole,
    rolebindings: checkBinding,
    clusterrolebindings: checkBinding,
  }

export function isGuarded({ group }: ApiResource): boolean {
  return group === rbacGroup
}

/** Throws a 403 if the client would grant permissions that it does not hold. */
export function refuseEscalation(call: ResourceCall, object: KubeObject, old?: KubeObject): void {
  const { resource, authorizer, user } = call
  if (!isGuarded(resource) || authorizer.isExempt(user)) return
  if (old !== undefined && changesOnlyGcFields(object, old)) return
  checks[resource.plural]?.(call, object, old)
}

/**
 * True if only fields of the garbage collector changed: it removes owner references without holding the permissions of the
 * role.
 */
function changesOnlyGcFields(object: KubeObject, old: KubeObject): boolean {
  return isDeepEqual(withoutGcFields(object), withoutGcFields(old))
}

function withoutGcFields({ metadata, ...rest }: KubeObject): object {
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

function checkRole(call: ResourceCall, role: Role, old: Role | undefined): void {
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

/** `verbs: null` reaches this check before validation rejects it. */
function withVerbs(rule: PolicyRule): PolicyRule {
  return rule.verbs === null ? { ...rule, verbs: [] } : rule
}

function hasAggregation({ aggregationRule }: Role): boolean {
  return (aggregationRule?.clusterRoleSelectors ?? []).length > 0
}

function checkBinding(call: ResourceCall, binding: KubeObject): void {
  const { resource, path, authorizer, user } = call
  const { namespace } = path
  const { apiGroup = '', kind = '', name = '' } = (binding['roleRef'] ?? {}) as Partial<RoleRef>
  if (kind !== 'Role' && kind !== 'ClusterRole') {
    // The real server intends 400 here but responds with 500.
    throw new StatusError(500, '', `unsupported role reference kind: "${kind}"`)
  }
  const plural = `${kind.toLowerCase()}s`
  const attempt = { verb: 'bind', group: apiGroup, resource: plural, subresource: '', namespace, name }
  if (authorizer.authorize(user, attempt).isAllowed) return
  const rules = rulesOf(call, { apiGroup, kind, name })
  // The missing object is the role, but the real server names the binding's resource in the 404.
  if (rules === undefined) throw notFound(resource, name)
  demandHeld(call, binding, rules)
}

function rulesOf({ store, path }: ResourceCall, { kind, name }: RoleRef): readonly PolicyRule[] | undefined {
  const [plural, key] = kind === 'Role' ? ['roles', `${path.namespace}/${name}`] : ['clusterroles', name]
  const stored = store.collection(`${rbacGroup}/${plural}`).get(key)
  return stored && ((parseStored(stored) as Role).rules ?? [])
}

function demandHeld(call: ResourceCall, object: KubeObject, rules: readonly PolicyRule[]): void {
  const missing = findMissing(call, rules)
  if (missing !== '') throw forbidden(call.resource, object.metadata.name ?? '', missing)
}

/** The message that lists the permissions the client lacks; '' if it holds all. */
function findMissing({ authorizer, user, path }: ResourceCall, wanted: readonly PolicyRule[]): string {
  const { rules, error } = authorizer.rulesFor(user, path.namespace)
  const missing = missingPermissions(rules, wanted)
  if (missing?.length === 0) return ''
  const what = missing === undefined ? '(more than can be compared)' : describePermissions(missing)
  const who = `user "${user.username}" (groups=${formatList(user.groups)})`
  const suffix = error === '' ? '' : `; resolution errors: [${error}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${what}${suffix}`
}
