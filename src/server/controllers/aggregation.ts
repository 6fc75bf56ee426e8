/**
 * The ClusterRole aggregation controller: fills roles with an `aggregationRule` from the roles that match its label selectors.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import { rbacGroup } from '../authorization/rbac.ts'
import type { ServerContext } from '../call.ts'
import { labelSelectorFromObject, type ParsedLabelSelector } from '../selectors.ts'
import { parseStored, type StoreChange, type Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { controllerManager } from '../verbs/owning.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

const collection = `${rbacGroup}/clusterroles`

/**
 * Limit on rounds, since aggregated roles can aggregate each other. A cycle that still changes after this many rounds is left
 * as it is.
 */
const maxRounds = 10

interface ClusterRole extends KubeObject {
  rules?: unknown[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] } | null
}

export class RoleAggregator {
  readonly #parts: ServerContext

  /** Aggregated roles by name, with their selectors. */
  readonly #aggregatedRoles = new Map<string, readonly ParsedLabelSelector[]>()
  readonly #pending: MicrotaskQueue<'all'>
  #isWriting = false

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#pending = new MicrotaskQueue(parts, 'clusterrole-aggregation-controller', () => this.#aggregateAll())
    parts.store.subscribe(collection, (change) => this.#handleChange(change))
  }

  #handleChange({ type, current, previous }: StoreChange): void {
    if (this.#isWriting) return
    const selectors = type === 'DELETED' ? undefined : selectorsOf(current)
    if (selectors === undefined) this.#aggregatedRoles.delete(current.name)
    else this.#aggregatedRoles.set(current.name, selectors)
    if (selectors !== undefined || this.#isSelected(current) || this.#isSelected(previous)) this.#pending.add('all')
  }

  #isSelected(role: Stored | undefined): boolean {
    if (role === undefined) return false
    return [...this.#aggregatedRoles.values()].some((selectors) =>
      selectors.some((one) => one.matches(role.labels ?? {})),
    )
  }

  #aggregateAll(): void {
    this.#isWriting = true
    try {
      for (let round = 0; round < maxRounds && this.#aggregateOnce(); round += 1);
    } finally {
      this.#isWriting = false
    }
  }

  /** One round over all aggregated roles. True if any role changed. */
  #aggregateOnce(): boolean {
    const { store, registry } = this.#parts
    let hasChanged = false
    for (const [name, selectors] of this.#aggregatedRoles) {
      const current = store.collection(collection).get(name)
      if (current === undefined || current.isDeleting) continue
      const rules = this.#aggregatedRules(name, selectors)
      if (isDeepEqual(rules, (parseStored(current) as ClusterRole).rules ?? [])) continue
      const change = (role: KubeObject) => ({ ...role, rules })
      updateObject(this.#parts, registry.storageOf(collection)!, current, {
        change,
        part: '',
        dryRun: false,
        manager: controllerManager,
      })
      hasChanged = true
    }
    return hasChanged
  }

  #aggregatedRules(name: string, selectors: readonly ParsedLabelSelector[]): unknown[] {
    // The store lists roles by name, so the order of the rules is stable.
    const roles = this.#parts.store
      .collection(collection)
      .list('')
      .filter((role) => role.name !== name)
    const rules = new Map<string, unknown>()
    for (const selector of selectors) {
      const selected = roles.filter(({ labels }) => selector.matches(labels ?? {}))
      for (const role of selected) {
        for (const rule of (parseStored(role) as ClusterRole).rules ?? []) {
          const key = JSON.stringify(rule)
          if (!rules.has(key)) rules.set(key, rule)
        }
      }
    }
    return [...rules.values()]
  }
}

/**
 * Undefined for a role without an aggregationRule or with an invalid one. It runs inside a client's write, so it must not
 * throw.
 */
function selectorsOf(stored: Stored): ParsedLabelSelector[] | undefined {
  if (!stored.json.includes('"aggregationRule"')) return undefined
  const { aggregationRule } = parseStored(stored) as ClusterRole
  try {
    return aggregationRule?.clusterRoleSelectors?.map(labelSelectorFromObject)
  } catch {
    return undefined
  }
}
