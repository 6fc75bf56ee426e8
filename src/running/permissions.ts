/**
 * What the operator needs to be allowed, against what it is: asked at the start, beside discovery, and told in one message with
 * the rules to add. Advice only: nothing waits for it, and whoever may not even ask goes on without.
 */
import { type Access, type ReviewedRules, reviewAccess, reviewRules } from '../client/access-reviews.ts'
import { describeError } from '../core/handling/outcomes.ts'
import { findMissing, formatRules, type Need } from '../kube/access-rules.ts'
import type { WorkNeeds } from './needs.ts'
import type { Runtime } from './runtime.ts'

export interface Needs extends WorkNeeds {
  /** The namespaces that are served; undefined for the whole cluster. */
  readonly namespaces: readonly string[] | undefined
}

/** Of more namespaces than this, the first ones stand for all. */
const mostNamespaces = 5

/** So many single rights are asked for, where the rules do not tell. */
const mostAccesses = 20

export class Permissions {
  readonly #runtime: Runtime
  readonly #signal: AbortSignal
  /** By namespace; undefined for the whole cluster. None of them rejects. */
  readonly #reviews = new Map<string | undefined, Promise<ReviewedRules | undefined>>()
  #accesses = 0

  constructor(runtime: Runtime, signal: AbortSignal) {
    this.#runtime = runtime
    this.#signal = signal
  }

  /** Where something will be needed is known before it is known what: undefined for the whole cluster. */
  ask(scopes: readonly (string | undefined)[]): void {
    for (const scope of scopes.slice(0, mostNamespaces)) void this.#rulesIn(scope)
  }

  async check({ everywhere, where, namespaces }: Needs): Promise<void> {
    const scopes = namespaces?.slice(0, mostNamespaces) ?? [undefined]
    const atLarge = await this.#reviews.get(undefined)
    // What a role in a namespace allows of the cluster is allowed in vain: so judged, too little is said, never too much.
    const rules = atLarge ?? (await this.#rulesIn(scopes[0]))
    const missing: Missing[] = [{ scope: undefined, needs: await this.#missing(everywhere, rules, undefined) }]
    const isAllowedAtLarge = atLarge !== undefined && findMissing(where, atLarge.rules).length === 0
    for (const scope of isAllowedAtLarge ? [] : scopes) {
      missing.push({ scope, needs: await this.#missing(where, await this.#rulesIn(scope), scope) })
    }
    this.#tell(missing)
  }

  async #missing(
    needs: readonly Need[],
    review: ReviewedRules | undefined,
    namespace: string | undefined,
  ): Promise<readonly Need[]> {
    if (review === undefined) return []
    const missing = findMissing(needs, review.rules)
    if (!review.isIncomplete) return missing
    const denied: Need[] = []
    for (const { verbs, ...need } of missing) {
      const { group, resource } = need
      const areDenied = await Promise.all(verbs.map((verb) => this.#isDenied({ group, resource, verb, namespace })))
      denied.push({ ...need, verbs: verbs.filter((_, position) => areDenied[position]) })
    }
    return denied.filter(({ verbs }) => verbs.length > 0)
  }

  /** What cannot be found out counts as allowed: the server will say so if it is not. */
  async #isDenied(access: Access): Promise<boolean> {
    this.#accesses += 1
    if (this.#accesses > mostAccesses) return false
    const { session } = this.#runtime
    return reviewAccess(session, access, this.#signal).then(
      (isAllowed) => !isAllowed,
      () => false,
    )
  }

  #rulesIn(scope: string | undefined): Promise<ReviewedRules | undefined> {
    const { session, logger } = this.#runtime
    const asked =
      this.#reviews.get(scope) ??
      reviewRules(session, scope, this.#signal).catch((error: unknown) => {
        logger.debug(`It is not known what the operator may do: ${describeError(error)}`)
        return undefined
      })
    this.#reviews.set(scope, asked)
    return asked
  }

  /** One message for all; scopes with the same rules share them. */
  #tell(missing: readonly Missing[]): void {
    const scopes = new Map<string, string[]>()
    for (const { scope, needs } of merge(missing)) {
      const role = scope === undefined ? 'a ClusterRole' : `a Role in "${scope}"`
      const rules = formatRules(needs)
      scopes.set(rules, [...(scopes.get(rules) ?? []), role])
    }
    if (scopes.size === 0) return
    const advice = Array.from(scopes, ([rules, roles]) => `To ${roles.join(' and to ')} of the operator, add ${rules}`)
    this.#runtime.logger.warn(`The operator is not allowed all that it needs. ${advice.join('. ')}`)
  }
}

interface Missing {
  readonly scope: string | undefined
  readonly needs: readonly Need[]
}

function merge(missing: readonly Missing[]): Missing[] {
  const merged = new Map<string | undefined, readonly Need[]>()
  for (const { scope, needs } of missing) {
    if (needs.length > 0) merged.set(scope, [...(merged.get(scope) ?? []), ...needs])
  }
  return Array.from(merged, ([scope, needs]) => ({ scope, needs }))
}
