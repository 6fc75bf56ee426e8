/** What the cluster serves, as far as we have looked: for the handlers' selectors, and for the client they are given. */

import type { Session } from '../client/calls.ts'
import { type Discovered, type DiscoveryFailure, discover, discoverGroup } from '../client/discovery.ts'
import { KopfError } from '../errors.ts'
import type { Resource, ResourceLike } from '../kube/resources.ts'
import { formatResource, type ResourceSelector, selectResources, toSelector } from '../kube/selectors.ts'

export class Insights {
  readonly #session: () => Session
  /** Undefined for all groups. */
  readonly #groups: readonly string[] | undefined
  #resources: readonly Resource[] = []
  #failures: readonly DiscoveryFailure[] = []
  /** Whether there is nothing in the cluster that is not among the resources. */
  #hasAll = false
  /** Whose definition is gone, in any version: servers go on telling of it for a moment. As `plural.group`. */
  readonly #gone = new Set<string>()

  constructor(session: () => Session, selectors: readonly ResourceSelector[]) {
    this.#session = session
    const groups = selectors.map(({ group }) => group)
    this.#groups = groups.includes(undefined) ? undefined : [...new Set(groups as string[])]
  }

  get resources(): readonly Resource[] {
    return this.#resources
  }

  /** What could not be looked at the last time: what was known of it before is still among the resources. */
  get failures(): readonly DiscoveryFailure[] {
    return this.#failures
  }

  /** Whether handlers may be for something in it. */
  concerns(group: string): boolean {
    return this.#groups?.includes(group) ?? true
  }

  has(group: string, plural: string): boolean {
    return this.#resources.some((one) => one.group === group && one.plural === plural)
  }

  /**
   * Looks at all groups that handlers are for; and forgets about others, which are looked at when they are asked for.
   * It is for those who are not told of definitions: what discovery says is all they have.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    this.#gone.clear()
    const options = { ...(this.#groups && { groups: this.#groups }), signal }
    this.#take(await discover(this.#session(), options), () => true)
    this.#hasAll = this.#groups === undefined
  }

  async refreshGroup(group: string, signal: AbortSignal): Promise<void> {
    this.#take(await discoverGroup(this.#session(), group, signal), (one) => one.group === group)
  }

  /** Its definition is gone, or was replaced: whatever was known of it is so no more. */
  forget(group: string, plural: string): void {
    this.#gone.add(`${plural}.${group}`)
    this.#resources = this.#resources.filter((one) => !this.#isGone(one))
  }

  /** There is a definition of that name: what is served under it is meant again. */
  expect(group: string, plural: string): void {
    this.#gone.delete(`${plural}.${group}`)
  }

  /** Forgets what only the client asked for: it is looked at anew when it does so again. */
  forgetGroup(group: string): void {
    this.#hasAll = false
    this.#resources = this.#resources.filter((one) => one.group !== group)
  }

  #take({ resources, failures }: Discovered, isAmong: (one: { readonly group: string }) => boolean): void {
    const hasFailed = ({ group, version }: Resource) =>
      failures.some((failure) => failure.group === group && failure.version === version)
    const others = this.#resources.filter((one) => !isAmong(one))
    const unasked = this.#resources.filter((one) => isAmong(one) && hasFailed(one))
    this.#resources = mergeResources(resources, unasked, others).filter((one) => !this.#isGone(one))
    this.#failures = [...this.#failures.filter((one) => !isAmong(one)), ...failures]
  }

  #isGone({ group, plural }: Resource): boolean {
    return this.#gone.size > 0 && this.#gone.has(`${plural}.${group}`)
  }

  /**
   * For the client: looks at everything before it says that there is no such thing, or what a name means that may stand for
   * something in any group; but for the core group, which goes first.
   */
  async resolve(like: ResourceLike): Promise<Resource> {
    const selector = toSelector(like)
    let found = selectResources(selector, this.#resources)
    const isSure = selector.group !== undefined || this.#hasAll || found.selected.some(({ group }) => group === '')
    if (found.selected.length === 0 || !isSure) {
      const { resources } = await discover(this.#session(), {})
      found = selectResources(selector, resources)
      this.#takeAll(resources)
    }
    const [resource] = found.selected
    if (resource !== undefined && found.selected.length === 1) return resource
    throw new KopfError('KOPF_RESOURCE', describeMisfit(selector, found.candidates))
  }

  /** What handlers may be for is taken in by those who act on it: nobody would tell them that it is here already. */
  #takeAll(resources: readonly Resource[]): void {
    const others = resources.filter(({ group }) => !this.concerns(group))
    this.#resources = mergeResources(this.#resources, others)
    this.#hasAll = true
  }
}

function describeMisfit(selector: ResourceSelector, candidates: readonly Resource[]): string {
  if (candidates.length === 0) {
    return `Cannot find the resource ${selector}: the cluster does not serve it; is its CustomResourceDefinition installed?`
  }
  const names = candidates.map(formatResource).join(', ')
  return `Cannot tell which resource is meant by ${selector}: several match; name its group too, as in one of ${names}`
}

/** What comes first is what counts. */
function mergeResources(...lists: ReadonlyArray<readonly Resource[]>): readonly Resource[] {
  const merged = new Map<string, Resource>()
  for (const resource of lists.flat()) {
    const name = formatResource(resource)
    if (!merged.has(name)) merged.set(name, resource)
  }
  return [...merged.values()]
}
