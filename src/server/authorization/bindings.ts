/** Which bindings speak of whom: found by user and group, without looking at the others. */
import type { KubeObject } from '../../kube/objects.ts'
import type { User } from '../identity/authentication.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'

export interface RoleRef {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

interface Binding {
  readonly key: string
  readonly roleRef: RoleRef
  readonly subjects: readonly Subject[]
  /** '' for a binding of the cluster. */
  readonly namespace: string
  readonly name: string
}

/** A binding that concerns somebody, and what it says of them in the words of a review. */
export interface Grant {
  readonly roleRef: RoleRef
  readonly source: string
}

export class Bindings {
  /** By namespace, '' for those of the cluster; then by subject, then by name. Nothing in it is empty. */
  readonly #byNamespace = new Map<string, Map<string, Map<string, Binding>>>()

  follow({ type, current, previous }: Change): void {
    if (previous !== undefined) this.#remove(toBinding(previous))
    if (type !== 'DELETED') this.#add(toBinding(current))
  }

  has(namespace: string): boolean {
    return this.#byNamespace.has(namespace)
  }

  /** Those of the cluster, then those of the namespace, each by name. */
  of(user: User, namespace: string): Grant[] {
    return [...this.#within(user, ''), ...(namespace === '' ? [] : this.#within(user, namespace))]
  }

  #within(user: User, namespace: string): Grant[] {
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
  const { roleRef, subjects } = parseStored(stored) as KubeObject & { roleRef: RoleRef; subjects?: Subject[] }
  const { key, namespace, name } = stored
  return { key, namespace, name, roleRef, subjects: subjects ?? [] }
}

function subjectKeys(binding: Binding): Set<string> {
  return new Set(binding.subjects.map((subject) => subjectKey(binding, subject)))
}

/** A service account is a user of a certain name; without a namespace, in a binding of one, it is of that one. */
function subjectKey(binding: Binding, { kind, name, namespace }: Subject): string {
  if (kind !== 'ServiceAccount') return `${kind}/${name}`
  return `User/system:serviceaccount:${namespace || binding.namespace}:${name}`
}

/** It says by which of its subjects somebody is concerned: the first. */
function describe(binding: Binding, keys: ReadonlySet<string>): string {
  const { roleRef, namespace, name } = binding
  const subject = binding.subjects.find((one) => keys.has(subjectKey(binding, one)))!
  const isAccount = subject.kind === 'ServiceAccount'
  const who = isAccount ? `${subject.name}/${subject.namespace || namespace}` : subject.name
  const what = namespace === '' ? `ClusterRoleBinding "${name}"` : `RoleBinding "${name}/${namespace}"`
  return `${what} of ${roleRef.kind} "${roleRef.name}" to ${subject.kind} "${who}"`
}
