/**
 * Which of the resources of a cluster a handler is for. Made at registration from any notation; asked whenever the
 * cluster was looked over, and for every event. Knows nothing of the cluster itself.
 */
import { EVERYTHING, type Everything } from './everything.ts'
import { parseNotation, type SelectorCriteria } from './notations.ts'
import { formatGroupVersion } from './objects.ts'
import type { Resource, ResourceLike } from './resources.ts'

/** Criteria that a resource meets or not; what is undefined is not asked for. */
export class ResourceSelector {
  readonly group: string | undefined
  readonly version: string | undefined
  readonly kind: string | undefined
  readonly plural: string | undefined
  readonly singular: string | undefined
  readonly shortcut: string | undefined
  readonly category: string | undefined
  /** Any of kind, plural, singular and shortcuts; never a category. */
  readonly name: string | Everything | undefined
  readonly fn: ((resource: Resource) => boolean) | undefined

  constructor(criteria: SelectorCriteria) {
    this.group = criteria.group
    this.version = criteria.version
    this.kind = criteria.kind
    this.plural = criteria.plural
    this.singular = criteria.singular
    this.shortcut = criteria.shortcut
    this.category = criteria.category
    this.name = criteria.name
    this.fn = criteria.fn
  }

  /** Whether it means one resource, so that two of them are a mistake. */
  get isSpecific(): boolean {
    return typeof (this.name ?? this.#exactName) === 'string'
  }

  matches(resource: Resource): boolean {
    return (
      (this.group === undefined || this.group === resource.group) &&
      this.#matchesVersion(resource) &&
      (this.kind === undefined || this.kind === resource.kind) &&
      (this.plural === undefined || this.plural === resource.plural) &&
      (this.singular === undefined || this.singular === resource.singular) &&
      (this.shortcut === undefined || resource.shortcuts.includes(this.shortcut)) &&
      (this.category === undefined || resource.categories.includes(this.category)) &&
      this.#matchesName(resource) &&
      (this.fn === undefined || (!isEvents(resource) && Boolean(this.fn(resource))))
    )
  }

  /** Whether the resource is meant, in this version or another: what converts is for all of them. */
  matchesAnyVersion(resource: Resource): boolean {
    return this.matches({ ...resource, version: this.version ?? resource.version })
  }

  /** As users would write it: for messages. */
  toString(): string {
    const { group, version, category, fn } = this
    const api = group === undefined ? version : version === undefined ? group : formatGroupVersion(group, version)
    const where = api === undefined ? '' : ` of ${api === '' ? 'the core group' : api}`
    if (fn !== undefined) return fn.name === '' ? 'those of a function' : `those of ${fn.name}()`
    if (this.name === EVERYTHING) return `everything${where}`
    if (category !== undefined) return `the category "${category}"${where}`
    return [this.name ?? this.#exactName, version, group].filter((part) => part !== undefined && part !== '').join('.')
  }

  get #exactName(): string | undefined {
    return this.kind ?? this.plural ?? this.singular ?? this.shortcut
  }

  /** Without a version only the preferred one is meant, lest each object be handled once per version. */
  #matchesVersion(resource: Resource): boolean {
    if (this.version !== undefined) return this.version === resource.version
    return resource.preferred || this.fn !== undefined
  }

  #matchesName(resource: Resource): boolean {
    if (this.name === undefined) return true
    if (this.name === EVERYTHING) return !isEvents(resource)
    const { kind, plural, singular, shortcuts } = resource
    return [kind, plural, singular].includes(this.name) || shortcuts.includes(this.name)
  }
}

/** Handling posts events; were they handled as well, it would never end. They are served when named. */
function isEvents({ group, plural }: Resource): boolean {
  return plural === 'events' && (group === '' || group === 'events.k8s.io')
}

export function toSelector(resourceLike: ResourceLike): ResourceSelector {
  return new ResourceSelector(parseNotation(resourceLike))
}

export interface Selection {
  readonly selected: Resource[]
  /** The same, but all of them where it is ambiguous: for the warning, and for indices and webhooks, which do not mind. */
  readonly candidates: Resource[]
  /** Whether one was meant and several were found; then none is selected. */
  readonly ambiguous: boolean
}

/**
 * The resources a selector stands for. As in kubectl, the core group goes first: `pods` are those of v1,
 * whatever `metrics.k8s.io` serves under that name.
 */
export function selectResources(selector: ResourceSelector, resources: readonly Resource[]): Selection {
  const matching = new Map<string, Resource>()
  for (const resource of resources) {
    if (selector.matches(resource)) matching.set(formatResource(resource), resource)
  }
  const found = [...matching.values()]
  if (!selector.isSpecific) return { selected: found, candidates: found, ambiguous: false }
  const core = found.filter(({ group }) => group === '')
  const candidates = core.length > 0 ? core : found
  const ambiguous = candidates.length > 1
  return { selected: ambiguous ? [] : candidates, candidates, ambiguous }
}

/** `plural.version.group`; `pods.v1` for the core group. */
export function formatResource({ plural, version, group }: Pick<Resource, 'plural' | 'version' | 'group'>): string {
  return group === '' ? `${plural}.${version}` : `${plural}.${version}.${group}`
}

/** Two descriptions are of one resource when group, version and plural are; discovery may have learnt more meanwhile. */
export function sameResource(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.version === b.version && a.plural === b.plural
}
