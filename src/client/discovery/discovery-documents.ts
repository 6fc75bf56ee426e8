/** Parses both forms of discovery documents, aggregated and per version, into `Resource` values. Pure; called by discovery.ts. */
import type { JsonObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { getObject, getObjects, getOwn, getString, getStrings } from '../../util/json/json.ts'

export interface AggregatedVersion {
  readonly group: string
  readonly version: string
  /** The aggregated API server does not respond; `resources` has its last known state. */
  readonly isStale: boolean
  readonly resources: readonly Resource[]
}

/** Parses an `APIGroupDiscoveryList`, whose versions are in the order of preference. */
export function fromAggregated(document: JsonObject): AggregatedVersion[] {
  return getObjects(document, 'items').flatMap((entry) => {
    const group = textOf(getObject(entry, 'metadata') ?? {}, 'name')
    return getObjects(entry, 'versions').map((each, index) => {
      const version = textOf(each, 'version')
      const groupVersion = { group, version, preferred: index === 0 }
      const resources = getObjects(each, 'resources').flatMap((resource) =>
        fromAggregatedResource(resource, groupVersion),
      )
      return { group, version, isStale: getOwn(each, 'freshness') === 'Stale', resources }
    })
  })
}

type PreferredVersion = Pick<Resource, 'group' | 'version' | 'preferred'>

function fromAggregatedResource(entry: JsonObject, groupVersion: PreferredVersion): Resource[] {
  const kind = textOf(getObject(entry, 'responseKind') ?? {}, 'kind')
  const plural = textOf(entry, 'resource')
  // An entry without a kind only groups subresources and cannot be requested itself.
  if (kind === '' || plural === '') return []
  return [
    {
      ...groupVersion,
      plural,
      kind,
      singular: textOf(entry, 'singularResource') || kind.toLowerCase(),
      shortcuts: getStrings(entry, 'shortNames'),
      categories: getStrings(entry, 'categories'),
      subresources: getObjects(entry, 'subresources').map((subresource) => textOf(subresource, 'subresource')),
      namespaced: getOwn(entry, 'scope') === 'Namespaced',
      verbs: getStrings(entry, 'verbs'),
    },
  ]
}

/** Parses an `APIResourceList`, which lists subresources beside their resource: `pods/status`. */
export function fromResourceList(document: JsonObject, groupVersion: PreferredVersion): Resource[] {
  const entries = getObjects(document, 'resources')
  const subresources = new Map<string, string[]>()
  for (const entry of entries) {
    const [plural, ...rest] = textOf(entry, 'name').split('/')
    if (rest.length > 0) subresources.set(plural!, [...(subresources.get(plural!) ?? []), rest.join('/')])
  }
  return entries
    .filter((entry) => /^[^/]+$/.test(textOf(entry, 'name')) && textOf(entry, 'kind') !== '')
    .map((entry) => fromListedResource(entry, groupVersion, subresources))
}

function fromListedResource(
  entry: JsonObject,
  { group, version, preferred }: PreferredVersion,
  subresources: ReadonlyMap<string, readonly string[]>,
): Resource {
  const plural = textOf(entry, 'name')
  const kind = textOf(entry, 'kind')
  return {
    group,
    version,
    preferred,
    plural,
    kind,
    singular: textOf(entry, 'singularName') || kind.toLowerCase(),
    shortcuts: getStrings(entry, 'shortNames'),
    categories: getStrings(entry, 'categories'),
    subresources: subresources.get(plural) ?? [],
    namespaced: getOwn(entry, 'namespaced') === true,
    verbs: getStrings(entry, 'verbs'),
  }
}

function textOf(entry: JsonObject, key: string): string {
  return getString(entry, key) ?? ''
}
