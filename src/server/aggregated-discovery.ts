/**
 * Aggregated discovery: all groups, versions and resources in one document, which clients since Kubernetes 1.26 request from `/api`
 * and `/apis`. The older forms are in discovery.ts.
 */
import { createHash } from 'node:crypto'
import type { ApiResponse } from './call.ts'
import { type DiscoveryDocument, namesOf, resourcesOf, subresourcesOf, verbsOf } from './discovery.ts'
import { type ApiGroup, sortGroups } from './group-order.ts'
import type { ApiResource, Subresource } from './resource.ts'

/** `/api` has the core group, `/apis` all other groups. */
export function aggregatedDiscovery(resources: readonly ApiResource[], root: '/api' | '/apis'): DiscoveryDocument {
  const groups = sortGroups(resources, 'name').filter((group) => (group.name === '') === (root === '/api'))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((group) => toGroup(group, resources)),
  }
}

function toGroup({ name, versions }: ApiGroup, resources: readonly ApiResource[]): DiscoveryDocument {
  return {
    metadata: name === '' ? {} : { name },
    versions: versions.map((version) => ({
      version,
      resources: resourcesOf(resources, name, version).map(toResource),
      freshness: 'Current',
    })),
  }
}

function toResource(resource: ApiResource): DiscoveryDocument {
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

function toSubresource(resource: ApiResource, subresource: Subresource): DiscoveryDocument {
  return {
    subresource: subresource.name,
    responseKind: toResponseKind(resource, subresource),
    verbs: subresource.verbs.toSorted(),
  }
}

/** Built-in kinds omit group and version where they equal those of the resource; kinds of CRDs always name them. */
function toResponseKind(resource: ApiResource, { group, version, kind }: ApiResource | Subresource): DiscoveryDocument {
  const goesWithoutSaying = !resource.isCustom && group === resource.group && version === resource.version
  return goesWithoutSaying ? { group: '', version: '', kind } : { group, version, kind }
}

/** A response that clients can cache: with the current ETag in `If-None-Match` they get 304. */
export function taggedAnswer(text: string, contentType: string, ifNoneMatch: string | undefined): ApiResponse {
  const etag = `"${hashOf(text)}"`
  const headers = { etag, vary: 'Accept', 'cache-control': 'public' }
  if (ifNoneMatch === etag) return { status: 304, headers, body: '' }
  return { status: 200, headers: { ...headers, 'content-type': contentType }, body: text }
}

export function hashOf(text: string): string {
  return createHash('sha512').update(text).digest('hex').toUpperCase()
}
