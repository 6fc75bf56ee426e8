/**
 * Resources that the cluster serves, as far as they were discovered. Used by cluster/ to match handlers, and by `client` to find
 * resources.
 */

import { KopfError } from '../../errors.ts'
import type { Resource, ResourceLike } from '../../kube/resources/resources.ts'
import { formatResource, type ResourceSelector, selectResources, toSelector } from '../../kube/resources/selectors.ts'
import type { Session } from '../session.ts'
import { type Discovered, type DiscoveryFailure, discover, discoverGroup } from './discovery.ts'

export class DiscoveryCache {
  readonly #session: () => Session
  /** Groups that the handlers' selectors name; undefined for all groups. */
  readonly #groups: readonly string[] | undefined
  #resources: readonly Resource[] = []
  #failures: readonly DiscoveryFailure[] = []
  /** Whether all groups of the cluster were discovered. */
  #hasAll = false
  /** Resources whose CRD was deleted, as `plural.group`: the API server lists them in discovery for a moment longer. */
  readonly #deleted = new Set<string>()

  constructor(session: () => Session, selectors: readonly ResourceSelector[]) {
    this.#session = session
    const groups = selectors.map(({ group }) => group)
    this.#groups = groups.includes(undefined) ? undefined : [...new Set(groups as string[])]
  }

  get resources(): readonly Resource[] {
    return this.#resources
  }

  /** Group versions that failed in the last discovery; `resources` still has what they served before. */
  get failures(): readonly DiscoveryFailure[] {
    return this.#failures
  }

  /** Whether a handler's selector may match a resource of the group. */
  isHandledGroup(group: string): boolean {
    return this.#groups?.includes(group) ?? true
  }

  has(group: string, plural: string): boolean {
    return this.#resources.some((one) => one.group === group && one.plural === plural)
  }

  /**
   * Discovers all groups of the handlers, and drops the other groups until `resolve` needs them. Also trusts discovery about deleted
   * CRDs: the caller does not watch CRDs.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    this.#deleted.clear()
    const options = { ...(this.#groups && { groups: this.#groups }), signal }
    this.#merge(await discover(this.#session(), options), () => true)
    this.#hasAll = this.#groups === undefined
  }

  async refreshGroup(group: string, signal: AbortSignal): Promise<void> {
    this.#merge(await discoverGroup(this.#session(), group, signal), (one) => one.group === group)
  }

  /** Removes a resource whose CRD was deleted or replaced, also from later discoveries. */
  forget(group: string, plural: string): void {
    this.#deleted.add(`${plural}.${group}`)
    this.#resources = this.#resources.filter((one) => !this.#isDeleted(one))
  }

  /** Accepts a resource again after `forget`: its CRD exists. */
  restore(group: string, plural: string): void {
    this.#deleted.delete(`${plural}.${group}`)
  }

  /** Drops a group that only `client` uses; `resolve` discovers it again when needed. */
  forgetGroup(group: string): void {
    this.#hasAll = false
    this.#resources = this.#resources.filter((one) => one.group !== group)
  }

  #merge({ resources, failures }: Discovered, isInScope: (one: { readonly group: string }) => boolean): void {
    const hasFailed = ({ group, version }: Resource) =>
      failures.some((failure) => failure.group === group && failure.version === version)
    const others = this.#resources.filter((one) => !isInScope(one))
    const unavailable = this.#resources.filter((one) => isInScope(one) && hasFailed(one))
    this.#resources = mergeResources(resources, unavailable, others).filter((one) => !this.#isDeleted(one))
    this.#failures = [...this.#failures.filter((one) => !isInScope(one)), ...failures]
  }

  #isDeleted({ group, plural }: Resource): boolean {
    return this.#deleted.size > 0 && this.#deleted.has(`${plural}.${group}`)
  }

  /**
   * Finds the resource for a notation given to `client`. Discovers all groups before it reports that there is none, and before it accepts a
   * name without a group, which could be ambiguous. A match in the core group needs no discovery: it has precedence.
   */
  async resolve(like: ResourceLike): Promise<Resource> {
    const selector = toSelector(like)
    let found = selectResources(selector, this.#resources)
    const isConclusive =
      selector.group !== undefined || this.#hasAll || found.selected.some(({ group }) => group === '')
    if (found.selected.length === 0 || !isConclusive) {
      const { resources } = await discover(this.#session(), {})
      found = selectResources(selector, resources)
      this.#addUnhandledGroups(resources)
    }
    const [resource] = found.selected
    if (resource !== undefined && found.selected.length === 1) return resource
    throw new KopfError('KOPF_RESOURCE', describeNoMatch(selector, found.candidates))
  }

  /** Adds groups without handlers only: a resource with handlers must be found by `refresh`, whose caller starts to watch it. */
  #addUnhandledGroups(resources: readonly Resource[]): void {
    const others = resources.filter(({ group }) => !this.isHandledGroup(group))
    this.#resources = mergeResources(this.#resources, others)
    this.#hasAll = true
  }
}

function describeNoMatch(selector: ResourceSelector, candidates: readonly Resource[]): string {
  if (candidates.length === 0) {
    return `Cannot find the resource ${selector}: the cluster does not serve it; is its CustomResourceDefinition installed?`
  }
  const names = candidates.map(formatResource).join(', ')
  return `Cannot tell which resource is meant by ${selector}: several match; name its group too, as in one of ${names}`
}

/** Of several entries for one resource, the first one counts. */
function mergeResources(...lists: ReadonlyArray<readonly Resource[]>): readonly Resource[] {
  const merged = new Map<string, Resource>()
  for (const resource of lists.flat()) {
    const name = formatResource(resource)
    if (!merged.has(name)) merged.set(name, resource)
  }
  return [...merged.values()]
}
