/** An index of RoleBindings and ClusterRoleBindings by user and group, so that a lookup does not scan every binding. */
import type { KubeObject } from '../../kube/objects.ts'
import type { User } from '../identity/authentication.ts'
import { parseStored, type StoreChange, type Stored } from '../storage/stored.ts'

export interface RoleRef {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

export interface RbacSubject {
  readonly kind: string
  readonly apiGroup?: string
  readonly name: string
  readonly namespace?: string
}

interface Binding {
  readonly key: string
  readonly roleRef: RoleRef
  readonly subjects: readonly RbacSubject[]
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string
  readonly name: string
}

/** A role bound to the user, and the binding as SubjectAccessReview explains it. */
export interface BoundRole {
  readonly roleRef: RoleRef
  readonly source: string
}

export class BindingIndex {
  /** Namespace ('' for ClusterRoleBindings) → subject → binding key. Empty inner maps are removed. */
  readonly #byNamespace = new Map<string, Map<string, Map<string, Binding>>>()

  follow({ type, current, previous }: StoreChange): void {
    if (previous !== undefined) this.#remove(toBinding(previous))
    if (type !== 'DELETED') this.#add(toBinding(current))
  }

  has(namespace: string): boolean {
    return this.#byNamespace.has(namespace)
  }

  /** ClusterRoleBindings first, then the RoleBindings of the namespace, each sorted by key. */
  of(user: User, namespace: string): BoundRole[] {
    return [...this.#matchesIn(user, ''), ...(namespace === '' ? [] : this.#matchesIn(user, namespace))]
  }

  #matchesIn(user: User, namespace: string): BoundRole[] {
    const bySubject = this.#byNamespace.get(namespace)
    if (bySubject === undefined) return []
    const keys = new Set([`User/${user.username}`, ...user.groups.map((group) => `Group/${group}`)])
    const found = new Map([...keys].flatMap((key) => [...(bySubject.get(key) ?? [])]))
    const sorted = [...found.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
    return sorted.map((binding) => ({ roleRef: binding.roleRef, source: describe(binding, keys) }))
  }

  #add(binding: Binding): void {
    for (const key of subjectKeys(binding)) {
      const bySubject = ensure(this.#byNamespace, binding.namespace)
      ensure(bySubject, key).set(binding.key, binding)
    }
  }

  #remove({ namespace, key, ...binding }: Binding): void {
    const bySubject = this.#byNamespace.get(namespace)
    for (const subject of subjectKeys({ ...binding, namespace, key })) {
      const byName = bySubject?.get(subject)
      byName?.delete(key)
      if (byName?.size === 0) bySubject?.delete(subject)
    }
    if (bySubject?.size === 0) this.#byNamespace.delete(namespace)
  }
}

function ensure<K, V>(map: Map<K, Map<string, V>>, key: K): Map<string, V> {
  const known = map.get(key) ?? new Map<string, V>()
  map.set(key, known)
  return known
}

function toBinding(stored: Stored): Binding {
  const { roleRef, subjects } = parseStored(stored) as KubeObject & { roleRef: RoleRef; subjects?: RbacSubject[] }
  const { key, namespace, name } = stored
  return { key, namespace, name, roleRef, subjects: subjects ?? [] }
}

function subjectKeys(binding: Binding): Set<string> {
  return new Set(binding.subjects.map((subject) => subjectKey(binding, subject)))
}

/**
 * A service account is the user `system:serviceaccount:<namespace>:<name>`. Its namespace defaults to that of the RoleBinding.
 */
function subjectKey(binding: Binding, { kind, name, namespace }: RbacSubject): string {
  if (kind !== 'ServiceAccount') return `${kind}/${name}`
  return `User/system:serviceaccount:${namespace || binding.namespace}:${name}`
}

/** Explains the match by the first subject that names the user or one of the user's groups. */
function describe(binding: Binding, keys: ReadonlySet<string>): string {
  const { roleRef, namespace, name } = binding
  const subject = binding.subjects.find((one) => keys.has(subjectKey(binding, one)))!
  const isAccount = subject.kind === 'ServiceAccount'
  const who = isAccount ? `${subject.name}/${subject.namespace || namespace}` : subject.name
  const what = namespace === '' ? `ClusterRoleBinding "${name}"` : `RoleBinding "${name}/${namespace}"`
  return `${what} of ${roleRef.kind} "${roleRef.name}" to ${subject.kind} "${who}"`
}
