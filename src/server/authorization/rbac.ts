/**
 * Role-based access control: who may do what, by the roles and bindings in the store. Kept by subject and changed with each
 * of their changes; what one user may do in one namespace is worked out once, until anything changes.
 */
import type { User } from '../identity/authentication.ts'
import type { Store } from '../storage/store.ts'
import { type Change, keyOf, parseStored, type Stored } from '../storage/stored.ts'
import type { Attempt } from './attempt.ts'
import type { Authorizer, Decision, Rules } from './authorizer.ts'
import { Bindings, type RoleRef } from './bindings.ts'
import { allows, type CompiledRule, compileRules } from './policy-rules.ts'

export const rbacGroup = 'rbac.authorization.k8s.io'

/** What one user may do in one namespace. */
interface Grants {
  /** In the order of the bindings: those of the cluster first. */
  readonly rules: ReadonlyArray<{ readonly compiled: CompiledRule; readonly decision: Decision }>
  /** Of roles that bindings speak of and that are not there. */
  readonly error: string
  readonly refusal: Decision
}

const exempt: Decision = { isAllowed: true, reason: '' }

export class RbacAuthorizer implements Authorizer {
  /** By kind and key: `ClusterRole/view`, `Role/default/editor`. */
  readonly #roles = new Map<string, LazyRole>()
  readonly #bindings = new Bindings()

  /** By user and namespace, '' for all of the cluster; never older than the last change of a role or a binding. */
  #known = new WeakMap<User, Map<string, Grants>>()

  constructor(store: Store) {
    const follow = (plural: string, apply: (change: Change) => void) =>
      store.subscribe(`${rbacGroup}/${plural}`, (change) => {
        apply(change)
        this.#known = new WeakMap()
      })
    follow('clusterroles', (change) => this.#keepRole('ClusterRole', change))
    follow('roles', (change) => this.#keepRole('Role', change))
    follow('clusterrolebindings', (change) => this.#bindings.follow(change))
    follow('rolebindings', (change) => this.#bindings.follow(change))
  }

  isExempt(user: User): boolean {
    return user.groups.includes('system:masters')
  }

  authorize(user: User, attempt: Attempt): Decision {
    if (this.isExempt(user)) return exempt
    const { rules, refusal } = this.#grantsOf(user, 'path' in attempt ? '' : attempt.namespace)
    return rules.find(({ compiled }) => allows(compiled, attempt))?.decision ?? refusal
  }

  rulesFor(user: User, namespace: string): Rules {
    const { rules, error } = this.#grantsOf(user, namespace)
    return { rules: rules.map(({ compiled }) => compiled.rule), error }
  }

  #keepRole(kind: string, { type, current }: Change): void {
    const key = `${kind}/${current.key}`
    if (type === 'DELETED') this.#roles.delete(key)
    else this.#roles.set(key, new LazyRole(current))
  }

  /** Undefined where there is no such role. */
  #rulesOf({ kind, name }: RoleRef, namespace: string): readonly CompiledRule[] | undefined {
    return this.#roles.get(`${kind}/${keyOf(kind === 'Role' ? namespace : '', name)}`)?.rules
  }

  #grantsOf(user: User, namespace: string): Grants {
    // Anybody can think of any number of namespaces: those without a binding are all the same.
    const place = this.#bindings.has(namespace) ? namespace : ''
    const known = this.#known.get(user) ?? new Map<string, Grants>()
    const grants = known.get(place) ?? this.#workOut(user, place)
    this.#known.set(user, known.set(place, grants))
    return grants
  }

  #workOut(user: User, namespace: string): Grants {
    const rules: Array<{ compiled: CompiledRule; decision: Decision }> = []
    const problems = new Set<string>()
    for (const { roleRef, source } of this.#bindings.of(user, namespace)) {
      const decision: Decision = { isAllowed: true, reason: `RBAC: allowed by ${source}` }
      const found = this.#rulesOf(roleRef, namespace)
      if (found === undefined) problems.add(`${roleRef.kind.toLowerCase()}.${rbacGroup} "${roleRef.name}" not found`)
      for (const compiled of found ?? []) rules.push({ compiled, decision })
    }
    const error = toOneError([...problems])
    return { rules, error, refusal: { isAllowed: false, reason: error === '' ? '' : `RBAC: ${error}` } }
  }
}

/** Most roles are never asked: their rules are read when they are. */
class LazyRole {
  #stored: Stored | undefined
  #rules: readonly CompiledRule[] = []

  constructor(stored: Stored) {
    this.#stored = stored
  }

  get rules(): readonly CompiledRule[] {
    if (this.#stored !== undefined) this.#rules = compileRules(parseStored(this.#stored)['rules'])
    this.#stored = undefined
    return this.#rules
  }
}

/** As Go's API machinery prints several errors. */
function toOneError(problems: readonly string[]): string {
  return problems.length > 1 ? `[${problems.join(', ')}]` : (problems[0] ?? '')
}
