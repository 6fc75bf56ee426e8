/**
 * Compares the RBAC rules that the operator needs with those it has, at the start and in parallel with discovery. Logs one warning with all
 * missing rules. Advice only: nothing waits for the check, and it is skipped if the operator may not request its own rules.
 */
import { type ReviewedAccess, type ReviewedRules, reviewAccess, reviewRules } from '../client/access-reviews.ts'
import { findMissing, formatRules, type RequiredRule } from '../kube/rbac-rules.ts'
import type { Context } from '../objects/context.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { WorkRules } from './required-rules.ts'

export interface RequiredPermissions extends WorkRules {
  /** The watched namespaces; undefined for the whole cluster. */
  readonly namespaces: readonly string[] | undefined
}

/** With more namespaces than this, only the first ones are checked. */
const maxNamespaces = 5

/** The limit for SelfSubjectAccessReviews, which are requested if the list of rules is incomplete. */
const maxAccesses = 20

export class PermissionCheck {
  readonly #context: Context
  readonly #signal: AbortSignal
  /** Reviews by namespace; undefined is the whole cluster. The promises never reject. */
  readonly #reviews = new Map<string | undefined, Promise<ReviewedRules | undefined>>()
  #accessReviews = 0

  constructor(context: Context, signal: AbortSignal) {
    this.#context = context
    this.#signal = signal
  }

  /** Requests the reviews early: the scopes are known before the required rules are. Undefined is the whole cluster. */
  prefetch(scopes: readonly (string | undefined)[]): void {
    for (const scope of scopes.slice(0, maxNamespaces)) void this.#reviewIn(scope)
  }

  async check({ clusterRules, namespaceRules, namespaces }: RequiredPermissions): Promise<void> {
    const scopes = namespaces?.slice(0, maxNamespaces) ?? [undefined]
    const clusterReview = await this.#reviews.get(undefined)
    // Without a cluster-wide review, cluster-scoped rules are checked against the first namespace. A Role cannot grant them, so the check may
    // miss a warning but never gives a false one.
    const review = clusterReview ?? (await this.#reviewIn(scopes[0]))
    const missing: MissingPermission[] = [
      { scope: undefined, rules: await this.#missing(clusterRules, review, undefined) },
    ]
    const isAllowedClusterwide =
      clusterReview !== undefined && findMissing(namespaceRules, clusterReview.rules).length === 0
    for (const scope of isAllowedClusterwide ? [] : scopes) {
      missing.push({ scope, rules: await this.#missing(namespaceRules, await this.#reviewIn(scope), scope) })
    }
    this.#report(missing)
  }

  async #missing(
    required: readonly RequiredRule[],
    review: ReviewedRules | undefined,
    namespace: string | undefined,
  ): Promise<readonly RequiredRule[]> {
    if (review === undefined) return []
    const missing = findMissing(required, review.rules)
    if (!review.isIncomplete) return missing
    const denied: RequiredRule[] = []
    for (const { verbs, ...rule } of missing) {
      const { group, resource } = rule
      const areDenied = await Promise.all(verbs.map((verb) => this.#isDenied({ group, resource, verb, namespace })))
      denied.push({ ...rule, verbs: verbs.filter((_, position) => areDenied[position]) })
    }
    return denied.filter(({ verbs }) => verbs.length > 0)
  }

  /** A permission that cannot be reviewed counts as allowed: the server responds with 403 later if it is not. */
  async #isDenied(access: ReviewedAccess): Promise<boolean> {
    this.#accessReviews += 1
    if (this.#accessReviews > maxAccesses) return false
    const { session } = this.#context
    return reviewAccess(session, access, this.#signal).then(
      (isAllowed) => !isAllowed,
      () => false,
    )
  }

  #reviewIn(scope: string | undefined): Promise<ReviewedRules | undefined> {
    const { session, logger } = this.#context
    const pending =
      this.#reviews.get(scope) ??
      reviewRules(session, scope, this.#signal).catch((error: unknown) => {
        logger.debug(`Cannot review the permissions of the operator: ${describeError(error)}`)
        return undefined
      })
    this.#reviews.set(scope, pending)
    return pending
  }

  /** Logs one message for all scopes. Scopes with the same missing rules are listed together. */
  #report(missing: readonly MissingPermission[]): void {
    const scopes = new Map<string, string[]>()
    for (const { scope, rules } of mergeByScope(missing)) {
      const role = scope === undefined ? 'a ClusterRole of the operator' : `a Role of the operator in "${scope}"`
      const text = formatRules(rules)
      scopes.set(text, [...(scopes.get(text) ?? []), role])
    }
    if (scopes.size === 0) return
    const advice = Array.from(scopes, ([text, roles]) => `Add the following to ${roles.join(' and to ')}: ${text}`)
    this.#context.logger.warn(`The operator lacks permissions. ${advice.join('. ')}`)
  }
}

interface MissingPermission {
  readonly scope: string | undefined
  readonly rules: readonly RequiredRule[]
}

function mergeByScope(missing: readonly MissingPermission[]): MissingPermission[] {
  const merged = new Map<string | undefined, readonly RequiredRule[]>()
  for (const { scope, rules } of missing) {
    if (rules.length > 0) merged.set(scope, [...(merged.get(scope) ?? []), ...rules])
  }
  return Array.from(merged, ([scope, rules]) => ({ scope, rules }))
}
