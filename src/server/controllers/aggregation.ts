/** Keeps cluster roles filled that gather the rules of others by their labels. */
import type { KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { rbacGroup } from '../authorization/rbac.ts'
import type { Parts } from '../call.ts'
import { type LabelSelector, labelSelectorFromObject } from '../selectors.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { controllerManager } from '../verbs/owning.ts'
import { FollowUp } from './follow-up.ts'

const collection = `${rbacGroup}/clusterroles`

/** Roles can gather what others have gathered. What does not come to rest by then goes round in circles, and is left. */
const mostRounds = 10

interface ClusterRole extends KubeObject {
  rules?: unknown[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] } | null
}

export class RoleAggregator {
  readonly #parts: Parts

  /** By name, those that gather, and whom they choose. */
  readonly #gatherers = new Map<string, readonly LabelSelector[]>()
  readonly #pending: FollowUp<'all'>
  #isWriting = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pending = new FollowUp(parts, 'clusterrole-aggregation-controller', () => this.#gatherAll())
    parts.store.subscribe(collection, (change) => this.#hear(change))
  }

  #hear({ type, current, previous }: Change): void {
    if (this.#isWriting) return
    const selectors = type === 'DELETED' ? undefined : selectorsOf(current)
    if (selectors === undefined) this.#gatherers.delete(current.name)
    else this.#gatherers.set(current.name, selectors)
    if (selectors !== undefined || this.#isChosen(current) || this.#isChosen(previous)) this.#pending.add('all')
  }

  #isChosen(role: Stored | undefined): boolean {
    if (role === undefined) return false
    return [...this.#gatherers.values()].some((selectors) => selectors.some((one) => one.matches(role.labels ?? {})))
  }

  #gatherAll(): void {
    this.#isWriting = true
    try {
      for (let round = 0; round < mostRounds && this.#gatherOnce(); round += 1);
    } finally {
      this.#isWriting = false
    }
  }

  /** Whether anything has changed. */
  #gatherOnce(): boolean {
    const { store, registry } = this.#parts
    let hasChanged = false
    for (const [name, selectors] of this.#gatherers) {
      const current = store.collection(collection).get(name)
      if (current === undefined || current.isDeleting) continue
      const rules = this.#gather(name, selectors)
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

  #gather(name: string, selectors: readonly LabelSelector[]): unknown[] {
    // By name, as the store lists them.
    const roles = this.#parts.store
      .collection(collection)
      .list('')
      .filter((role) => role.name !== name)
    const gathered = new Map<string, unknown>()
    for (const selector of selectors) {
      const chosen = roles.filter(({ labels }) => selector.matches(labels ?? {}))
      for (const role of chosen) {
        for (const rule of (parseStored(role) as ClusterRole).rules ?? []) {
          const key = JSON.stringify(rule)
          if (!gathered.has(key)) gathered.set(key, rule)
        }
      }
    }
    return [...gathered.values()]
  }
}

/** Undefined for a role that gathers nothing, or cannot: this is called inside somebody's write, and must not throw. */
function selectorsOf(stored: Stored): LabelSelector[] | undefined {
  if (!stored.json.includes('"aggregationRule"')) return undefined
  const { aggregationRule } = parseStored(stored) as ClusterRole
  try {
    return aggregationRule?.clusterRoleSelectors?.map(labelSelectorFromObject)
  } catch {
    return undefined
  }
}
