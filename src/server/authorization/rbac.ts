/**
 * The RBAC authorizer. It indexes the roles and bindings of the store, updates the index with each change, and caches the
 * resolved permissions per user and namespace until a role or binding changes.
 */
import type { User } from '../identity/authentication.ts'
import type { ServerStore } from '../storage/store.ts'
import { keyOf, parseStored, type StoreChange, type Stored } from '../storage/stored.ts'
import type { AuthorizationAttributes } from './attributes.ts'
import type { AuthorizationDecision, Authorizer, Rules } from './authorizer.ts'
import { BindingIndex, type RoleRef } from './bindings.ts'
import { allows, type CompiledPolicyRule, compileRules } from './policy-rules.ts'

export const rbacGroup = 'rbac.authorization.k8s.io'

/** Permissions of one user in one namespace. */
interface UserPermissions {
  /** In binding order: ClusterRoleBindings first. */
  readonly rules: ReadonlyArray<{ readonly compiled: CompiledPolicyRule; readonly decision: AuthorizationDecision }>
  /** Bindings that refer to missing roles; '' if there are none. */
  readonly error: string
  readonly refusal: AuthorizationDecision
}

const exempt: AuthorizationDecision = { isAllowed: true, reason: '' }

export class RbacAuthorizer implements Authorizer {
  /** Keyed by kind and object key: `ClusterRole/view`, `Role/default/editor`. */
  readonly #roles = new Map<string, LazyRole>()
  readonly #bindings = new BindingIndex()

  /** Cache by user and namespace ('' for cluster-wide). Replaced with each change of a role or binding. */
  #cache = new WeakMap<User, Map<string, UserPermissions>>()

  constructor(store: ServerStore) {
    const follow = (plural: string, apply: (change: StoreChange) => void) =>
      store.subscribe(`${rbacGroup}/${plural}`, (change) => {
        apply(change)
        this.#cache = new WeakMap()
      })
    follow('clusterroles', (change) => this.#updateRole('ClusterRole', change))
    follow('roles', (change) => this.#updateRole('Role', change))
    follow('clusterrolebindings', (change) => this.#bindings.follow(change))
    follow('rolebindings', (change) => this.#bindings.follow(change))
  }

  isExempt(user: User): boolean {
    return user.groups.includes('system:masters')
  }

  authorize(user: User, attempt: AuthorizationAttributes): AuthorizationDecision {
    if (this.isExempt(user)) return exempt
    const { rules, refusal } = this.#permissionsOf(user, 'path' in attempt ? '' : attempt.namespace)
    return rules.find(({ compiled }) => allows(compiled, attempt))?.decision ?? refusal
  }

  rulesFor(user: User, namespace: string): Rules {
    const { rules, error } = this.#permissionsOf(user, namespace)
    return { rules: rules.map(({ compiled }) => compiled.rule), error }
  }

  #updateRole(kind: string, { type, current }: StoreChange): void {
    const key = `${kind}/${current.key}`
    if (type === 'DELETED') this.#roles.delete(key)
    else this.#roles.set(key, new LazyRole(current))
  }

  /** Undefined if the role does not exist. */
  #rulesOf({ kind, name }: RoleRef, namespace: string): readonly CompiledPolicyRule[] | undefined {
    return this.#roles.get(`${kind}/${keyOf(kind === 'Role' ? namespace : '', name)}`)?.rules
  }

  #permissionsOf(user: User, namespace: string): UserPermissions {
    // A client can name any number of namespaces. All namespaces without a RoleBinding share the cluster-wide cache entry.
    const scope = this.#bindings.has(namespace) ? namespace : ''
    const known = this.#cache.get(user) ?? new Map<string, UserPermissions>()
    const permissions = known.get(scope) ?? this.#resolve(user, scope)
    this.#cache.set(user, known.set(scope, permissions))
    return permissions
  }

  #resolve(user: User, namespace: string): UserPermissions {
    const rules: Array<{ compiled: CompiledPolicyRule; decision: AuthorizationDecision }> = []
    const problems = new Set<string>()
    for (const { roleRef, source } of this.#bindings.of(user, namespace)) {
      const decision: AuthorizationDecision = { isAllowed: true, reason: `RBAC: allowed by ${source}` }
      const found = this.#rulesOf(roleRef, namespace)
      if (found === undefined) problems.add(`${roleRef.kind.toLowerCase()}.${rbacGroup} "${roleRef.name}" not found`)
      for (const compiled of found ?? []) rules.push({ compiled, decision })
    }
    const error = toOneError([...problems])
    return { rules, error, refusal: { isAllowed: false, reason: error === '' ? '' : `RBAC: ${error}` } }
  }
}

/** Compiles the rules at the first check, since most roles are never used. */
class LazyRole {
  #stored: Stored | undefined
  #rules: readonly CompiledPolicyRule[] = []

  constructor(stored: Stored) {
    this.#stored = stored
  }

  get rules(): readonly CompiledPolicyRule[] {
    if (this.#stored !== undefined) this.#rules = compileRules(parseStored(this.#stored)['rules'])
    this.#stored = undefined
    return this.#rules
  }
}

/** Formats errors like `utilerrors.Aggregate` of Go's API machinery. */
function toOneError(problems: readonly string[]): string {
  return problems.length > 1 ? `[${problems.join(', ')}]` : (problems[0] ?? '')
}
