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
  readonly scope: Promise<ViewerScope>
  readonly untilMs: number
}

export class ReviewedViewer implements Viewer {
  readonly #user: ReviewedUser
  readonly #reviews: AccessReviews
  readonly #clock: Clock
  readonly #scopes = new LruMap<string, KnownScope>(maxScopes)

  constructor(user: ReviewedUser, { reviews, clock }: { readonly reviews: AccessReviews; readonly clock: Clock }) {
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
    const key = formatResource(resource)
    const nowMs = this.#clock.now()
    const known = this.#scopes.get(key)
    if (known !== undefined && known.untilMs > nowMs) return known.scope
    const scope = this.#reviewScope(resource, namespaces)
    this.#scopes.set(key, { scope, untilMs: nowMs + scopeMs })
    // A failed review is asked again.
    scope.catch(() => this.#scopes.set(key, { scope, untilMs: 0 }))
    return scope
  }

  async #reviewScope(resource: Resource, namespaces: () => Iterable<string>): Promise<ViewerScope> {
    if (await this.may({ verb: 'list', resource, namespace: undefined })) return 'all'
    if (!resource.namespaced) return new Set()
    const allowed = new Set<string>()
    const waiting = Array.from(namespaces()).sort().slice(0, maxNamespaces)
    const work = async () => {
      for (let namespace = waiting.shift(); namespace !== undefined; namespace = waiting.shift()) {
        if (await this.may({ verb: 'list', resource, namespace })) allowed.add(namespace)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    return allowed
  }
}

export function isInScope(scope: ViewerScope | undefined, namespace: string | undefined): boolean {
  if (scope === undefined) return false
  return scope === 'all' || (namespace !== undefined && scope.has(namespace))
}
