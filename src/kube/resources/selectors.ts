/**
 * Selectors of resources: created from any notation at registration, matched against discovered resources and for every event.
 * Sends no requests.
 */

import { formatGroupVersion } from '../objects.ts'
import type { Resource, ResourceLike } from './resources.ts'
import { EVERYTHING, type Everything, parseNotation, type SelectorCriteria } from './selector-notations.ts'

/** Criteria for resources; undefined matches anything. */
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

  /** Whether the selector names one resource, so that several matches are ambiguous. */
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

  /** Whether the selector matches the resource apart from its version, as for conversion handlers. */
  matchesAnyVersion(resource: Resource): boolean {
    return this.matches({ ...resource, version: this.version ?? resource.version })
  }

  /** The notation of a user, for messages. */
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

  /** A selector without a version matches the preferred version only: otherwise each object would be handled once per version. */
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

/** Handling posts Kubernetes events; if general selectors matched them, handling would never end. They match only by name. */
function isEvents({ group, plural }: Resource): boolean {
  return plural === 'events' && (group === '' || group === 'events.k8s.io')
}

export function toSelector(resourceLike: ResourceLike): ResourceSelector {
  return new ResourceSelector(parseNotation(resourceLike))
}

export interface Selection {
  readonly selected: Resource[]
  /** As `selected`, but with all matches of an ambiguous selector: for the warning, and for indices and webhooks, which accept several. */
  readonly candidates: Resource[]
  /** Whether a specific selector matched several resources; then `selected` is empty. */
  readonly ambiguous: boolean
}

/** The resources that a selector matches. As in kubectl, the core group has precedence: `pods` means v1, not `metrics.k8s.io`. */
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

/** Compares group, version and plural only: a later discovery may return other details of the same resource. */
export function sameResource(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.version === b.version && a.plural === b.plural
}
