/**
 * What one user of the dashboard may see. A user with a token is asked for by SubjectAccessReviews: first for all namespaces, then for single ones. A developer who
 * has logged in with a code on the same machine sees what the operator sees.
 */
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { AccessReviews, ReviewedUser } from '../serving/access-reviews.ts'
import type { Clock } from '../util/async/clock.ts'
import { LruMap } from '../util/lru-map.ts'

/** The namespaces in which a user may do something; `all` also for cluster-scoped resources. */
export type ViewerScope = 'all' | ReadonlySet<string>

export interface AccessRequest {
  readonly verb: string
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name?: string
}

export interface Viewer {
  readonly name: string
  /** Equal for viewers who see the same. */
  readonly key: string
  /** Where the user may list objects of the resource. `namespaces` is called for a user who may not list all namespaces. */
  scopeOf(resource: Resource, namespaces: () => Iterable<string>): Promise<ViewerScope>
  may(request: AccessRequest): Promise<boolean>
}

export class Developer implements Viewer {
  readonly name = 'developer'
  readonly key = ''

  async scopeOf(): Promise<ViewerScope> {
    return 'all'
  }

  async may(): Promise<boolean> {
    return true
  }
}

/** A user who may not list all namespaces is asked for this many of them. */
const maxNamespaces = 100
const atOnce = 8
/** The answers of AccessReviews live longer, but are too few for many namespaces. */
const scopeMs = 30_000
const maxScopes = 200

interface KnownScope {
  /** Whether all namespaces are allowed. */
  readonly isAll: Promise<boolean>
  /** The answers about single namespaces. More are added when the operator sees objects in other namespaces. */
  readonly namespaces: Map<string, Promise<boolean>>
  readonly untilMs: number
}

export class ReviewedViewer implements Viewer {
  readonly #user: ReviewedUser
  readonly #reviews: Pick<AccessReviews, 'isAllowed'>
  readonly #clock: Clock
  readonly #scopes = new LruMap<string, KnownScope>(maxScopes)

  constructor(
    user: ReviewedUser,
    { reviews, clock }: { readonly reviews: Pick<AccessReviews, 'isAllowed'>; readonly clock: Clock },
  ) {
    this.#user = user
    this.#reviews = reviews
    this.#clock = clock
  }

  get name(): string {
    return this.#user.name
  }

  get key(): string {
    const { name, uid, groups, extra } = this.#user
    return JSON.stringify([name, uid, groups, extra])
  }

  may({ verb, resource: { group, plural }, namespace, name }: AccessRequest): Promise<boolean> {
    return this.#reviews.isAllowed(this.#user, { verb, group, resource: plural, namespace, name })
  }

  async scopeOf(resource: Resource, namespaces: () => Iterable<string>): Promise<ViewerScope> {
    const known = this.#scopeOf(resource)
    try {
      if (await known.isAll) return 'all'
      return resource.namespaced ? await this.#allowedAmong(resource, known, namespaces()) : new Set()
    } catch (error) {
      // Without an answer, the API server is asked again.
      this.#scopes.delete(formatResource(resource))
      throw error
    }
  }

  #scopeOf(resource: Resource): KnownScope {
    const key = formatResource(resource)
    const nowMs = this.#clock.now()
    const known = this.#scopes.get(key)
    if (known !== undefined && known.untilMs > nowMs) return known
    const isAll = this.may({ verb: 'list', resource, namespace: undefined })
    const scope = { isAll, namespaces: new Map(), untilMs: nowMs + scopeMs }
    this.#scopes.set(key, scope)
    return scope
  }

  async #allowedAmong(resource: Resource, known: KnownScope, all: Iterable<string>): Promise<ReadonlySet<string>> {
    const waiting = [...all].filter((namespace) => !known.namespaces.has(namespace)).sort()
    const ask = async () => {
      for (let namespace = waiting.shift(); namespace !== undefined; namespace = waiting.shift()) {
        if (known.namespaces.size >= maxNamespaces) return
        const answer = this.may({ verb: 'list', resource, namespace })
        known.namespaces.set(namespace, answer)
        await answer
      }
    }
    await Promise.all(Array.from({ length: atOnce }, ask))
    const allowed = new Set<string>()
    for (const [namespace, answer] of known.namespaces) if (await answer) allowed.add(namespace)
    return allowed
  }
}

export function isInScope(scope: ViewerScope | undefined, namespace: string | undefined): boolean {
  if (scope === undefined) return false
  return scope === 'all' || (namespace !== undefined && scope.has(namespace))
}
