/**
 * All groups, versions and resources in one document: what clients since Kubernetes 1.26 ask `/api` and `/apis` for, to
 * spare themselves a request for every version. The older forms are in discovery.ts.
 */
import { createHash } from 'node:crypto'
import type { Answer } from './call.ts'
import { namesOf, resourcesOf, subresourcesOf, verbsOf } from './discovery.ts'
import { type Group, sortGroups } from './group-order.ts'
import type { ServedResource, Subresource } from './resource.ts'

type Body = Record<string, unknown>

/** `/api` has the core group, `/apis` all others. */
export function aggregatedDiscovery(resources: readonly ServedResource[], root: '/api' | '/apis'): Body {
  const groups = sortGroups(resources, 'name').filter((group) => (group.name === '') === (root === '/api'))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => toGroup(group, resources)),
  }
}

function toGroup({ name, versions }: Group, resources: readonly ServedResource[]): Body {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map((version) => ({
      version,
      resources: resourcesOf(resources, name, version).map(toResource),
      freshness: 'Current',
    })),
  }
}

function toResource(resource: ServedResource): Body {
  const subresources = subresourcesOf(resource).map((subresource) => toSubresource(resource, subresource))
  return {
    resource: resource.plural,
    responseKind: toResponseKind(resource, resource),
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: verbsOf(resource),
    ...namesOf(resource),
    ...(subresources.length === 0 ? {} : { subresources }),
  }
}

function toSubresource(resource: ServedResource, subresource: Subresource): Body {
  return {
    subresource: subresource.name,
    responseKind: toResponseKind(resource, subresource),
    verbs: subresource.verbs.toSorted(),
  }
}

/** Built-in kinds leave out what goes without saying; those of CRDs are spelled out. */
function toResponseKind(resource: ServedResource, { group, version, kind }: ServedResource | Subresource): Body {
  const goesWithoutSaying = !resource.isCustom && group === resource.group && version === resource.version
  return goesWithoutSaying ? { group: '', version: '', kind } : { group, version, kind }
}

/** What a client may keep until it changes: it asks again with the tag it has, and is told if that is still right. */
export function taggedAnswer(text: string, contentType: string, ifNoneMatch: string | undefined): Answer {
  const etag = `"${hashOf(text)}"`
  const headers = { etag, vary: 'Accept', 'cache-control': 'public' }
  if (ifNoneMatch === etag) return { status: 304, headers, body: '' }
  return { status: 200, headers: { ...headers, 'content-type': contentType }, body: text }
}

export function hashOf(text: string): string {
  return createHash('sha512').update(text).digest('hex').toUpperCase()
}
