/** What the cluster serves, as far as we have looked: for the handlers' selectors, and for the client they are given. */

import type { Session } from '../client/calls.ts'
import { type DiscoveryFailure, discover } from '../client/discovery.ts'
import { KopfError } from '../errors.ts'
import type { Resource, ResourceLike } from '../kube/resources.ts'
import { type ResourceSelector, selectResources, toSelector } from '../kube/selectors.ts'

export class Insights {
  readonly #session: () => Session
  /** Undefined for all groups. */
  readonly #groups: readonly string[] | undefined
  #resources: readonly Resource[] = []
  #hasAll = false

  constructor(session: () => Session, selectors: readonly ResourceSelector[]) {
    this.#session = session
    const groups = selectors.map(({ group }) => group)
    this.#groups = groups.includes(undefined) ? undefined : [...new Set(groups as string[])]
  }

  get resources(): readonly Resource[] {
    return this.#resources
  }

  /** Looks at the groups that handlers are for. */
  async refresh(signal: AbortSignal): Promise<readonly DiscoveryFailure[]> {
    const { resources, failures } = await discover(this.#session(), {
      ...(this.#groups && { groups: this.#groups }),
      signal,
    })
    this.#resources = resources
    this.#hasAll = this.#groups === undefined
    return failures
  }

  /** For the client: looks at everything once more before it says that there is no such thing. */
  async resolve(like: ResourceLike): Promise<Resource> {
    const selector = toSelector(like)
    let found = selectResources(selector, this.#resources)
    if (found.selected.length === 0) {
      const { resources } = await discover(this.#session(), {})
      found = selectResources(selector, resources)
      if (!this.#hasAll) this.#resources = mergeResources(this.#resources, resources)
    }
    const [resource] = found.selected
    if (resource !== undefined && found.selected.length === 1) return resource
    throw new KopfError(
      'KOPF_RESOURCE',
      found.ambiguous || found.selected.length > 1
        ? `Cannot tell which resource is meant by ${selector}: several match; name its group too`
        : `Cannot find the resource ${selector}: the cluster does not serve it; is its CustomResourceDefinition installed?`,
    )
  }
}

function mergeResources(known: readonly Resource[], all: readonly Resource[]): readonly Resource[] {
  const isKnown = (one: Resource) =>
    known.some(({ group, version, plural }) => one.group === group && one.version === version && one.plural === plural)
  return [...known, ...all.filter((one) => !isKnown(one))]
}
