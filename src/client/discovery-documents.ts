/** The two forms in which servers describe their resources, each turned into `Resource` values. Pure; for discovery.ts. */
import type { Json, JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { getOwn, isPlainObject } from '../util/json.ts'

export interface AggregatedVersion {
  readonly group: string
  readonly version: string
  /** The server behind it does not answer; what is here is what it said last, if anything. */
  readonly isStale: boolean
  readonly resources: readonly Resource[]
}

/** `APIGroupDiscoveryList`: versions come in the order of preference. */
export function fromAggregated(document: JsonObject): AggregatedVersion[] {
  return objectsOf(document, 'items').flatMap((entry) => {
    const metadata = getOwn(entry, 'metadata')
    const group = isPlainObject(metadata) ? textOf(metadata, 'name') : ''
    return objectsOf(entry, 'versions').map((each, index) => {
      const version = textOf(each, 'version')
      const place = { group, version, preferred: index === 0 }
      const resources = objectsOf(each, 'resources').flatMap((resource) => fromAggregatedResource(resource, place))
      return { group, version, isStale: getOwn(each, 'freshness') === 'Stale', resources }
    })
  })
}

type Place = Pick<Resource, 'group' | 'version' | 'preferred'>

function fromAggregatedResource(entry: JsonObject, place: Place): Resource[] {
  const responseKind = getOwn(entry, 'responseKind')
  const kind = isPlainObject(responseKind) ? textOf(responseKind, 'kind') : ''
  const plural = textOf(entry, 'resource')
  // Without a kind it is but the holder of its subresources, and cannot be asked for itself.
  if (kind === '' || plural === '') return []
  return [
    {
      ...place,
      plural,
      kind,
      singular: textOf(entry, 'singularResource') || kind.toLowerCase(),
      shortcuts: textsOf(entry, 'shortNames'),
      categories: textsOf(entry, 'categories'),
      subresources: objectsOf(entry, 'subresources').map((subresource) => textOf(subresource, 'subresource')),
      namespaced: getOwn(entry, 'scope') === 'Namespaced',
      verbs: textsOf(entry, 'verbs'),
    },
  ]
}

/** `APIResourceList`: subresources stand beside their resource, as `pods/status`. */
export function fromResourceList(document: JsonObject, place: Place): Resource[] {
  const entries = objectsOf(document, 'resources')
  const subresources = new Map<string, string[]>()
  for (const entry of entries) {
    const [plural, ...rest] = textOf(entry, 'name').split('/')
    if (rest.length > 0) subresources.set(plural!, [...(subresources.get(plural!) ?? []), rest.join('/')])
  }
  return entries
    .filter((entry) => /^[^/]+$/.test(textOf(entry, 'name')) && textOf(entry, 'kind') !== '')
    .map((entry) => fromListedResource(entry, place, subresources))
}

function fromListedResource(
  entry: JsonObject,
  { group, version, preferred }: Place,
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
    shortcuts: textsOf(entry, 'shortNames'),
    categories: textsOf(entry, 'categories'),
    subresources: subresources.get(plural) ?? [],
    namespaced: getOwn(entry, 'namespaced') === true,
    verbs: textsOf(entry, 'verbs'),
  }
}

function objectsOf(entry: JsonObject, key: string): JsonObject[] {
  const value = getOwn(entry, key)
  return Array.isArray(value) ? value.filter(isPlainObject) : []
}

function textsOf(entry: JsonObject, key: string): string[] {
  const value = getOwn(entry, key)
  return Array.isArray(value) ? value.filter((one: Json) => typeof one === 'string') : []
}

function textOf(entry: JsonObject, key: string): string {
  const value = getOwn(entry, key)
  return typeof value === 'string' ? value : ''
}
