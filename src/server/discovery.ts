/**
 * What clients ask first: which groups, versions and resources there are. Pure functions of what is served (registry.ts);
 * the newer form, which says all at once, is in aggregated-discovery.ts.
 */
import { createHash } from 'node:crypto'
import { formatGroupVersion } from '../kube/objects.ts'
import { type Group, sortGroups } from './group-order.ts'
import type { ServedResource, Subresource } from './resource.ts'

type Body = Record<string, unknown>

/** `/api`; the address is where the server can be reached. Without `apiVersion`, as it has been since before there was one. */
export function apiVersions(serverAddress: string): Body {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** `/apis` */
export function apiGroupList(resources: readonly ServedResource[]): Body {
  const groups = sortGroups(resources, 'version').filter((group) => group.name !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(toGroup) }
}

/** `/apis/<group>`; undefined where there is none. */
export function apiGroup(resources: readonly ServedResource[], name: string): Body | undefined {
  const group = sortGroups(resources, 'version').find((candidate) => candidate.name === name)
  return group && { kind: 'APIGroup', apiVersion: 'v1', ...toGroup(group) }
}

function toGroup({ name, versions }: Group): Body {
  const entries = versions.map((version) => ({ groupVersion: formatGroupVersion(name, version), version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined where there is none. */
export function apiResourceList(
  resources: readonly ServedResource[],
  group: string,
  version: string,
): Body | undefined {
  const served = resourcesOf(resources, group, version)
  if (served.length === 0) return undefined
  return {
    kind: 'APIResourceList',
    // The core group is older than this field.
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatGroupVersion(group, version),
    resources: served.flatMap((resource) => [
      toApiResource(resource, resources),
      ...subresourcesOf(resource).map((subresource) => toApiSubresource(resource, subresource)),
    ]),
  }
}

/** In the order in which they are shown. */
export function resourcesOf(resources: readonly ServedResource[], group: string, version: string): ServedResource[] {
  return resources
    .filter((resource) => resource.group === group && resource.version === version)
    .sort((one, other) => (one.plural < other.plural ? -1 : 1))
}

/** Those of CRDs come as the CRD's controller lists them, those of built-in kinds by name. */
export function subresourcesOf({ subresources, isCustom }: ServedResource): readonly Subresource[] {
  return isCustom ? subresources : subresources.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function toApiResource(resource: ServedResource, all: readonly ServedResource[]): Body {
  const storageVersionHash = storageHash(resource, all)
  return {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: verbsOf(resource),
    ...namesOf(resource),
    ...(storageVersionHash === undefined ? {} : { storageVersionHash }),
  }
}

/** Built-in kinds show their verbs sorted. */
export function verbsOf({ verbs, isCustom }: ServedResource): readonly string[] {
  return isCustom ? verbs : verbs.toSorted()
}

/** What a person may call it by; left out where there is nothing. */
export function namesOf({ shortNames, categories }: ServedResource): Body {
  return { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) }
}

function toApiSubresource(resource: ServedResource, subresource: Subresource): Body {
  const { name, group, version, kind, verbs } = subresource
  const isOwn = group === resource.group && version === resource.version
  return {
    name: `${resource.plural}/${name}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...(isOwn ? {} : { ...(group === '' ? {} : { group }), version }),
    kind,
    verbs: verbs.toSorted(),
  }
}

/** Tells clients that the stored form has changed. What is not stored, reviews for example, has none. */
function storageHash(resource: ServedResource, all: readonly ServedResource[]): string | undefined {
  if (!resource.verbs.includes('watch')) return undefined
  const isStored = (one: ServedResource): boolean =>
    one.conversion === undefined && one.collection === resource.collection
  const stored = isStored(resource) ? resource : all.find(isStored)
  if (stored === undefined) return undefined
  const { group, kind } = stored
  // CRDs are still kept as v1beta1, although nobody can ask for that any more.
  const version = kind === 'CustomResourceDefinition' && group === 'apiextensions.k8s.io' ? 'v1beta1' : stored.version
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64')
}

const fixedPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/apis',
  '/apis/',
  '/healthz',
  '/livez',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/readyz',
  '/version',
]

/** `/` */
export function rootPaths(resources: readonly ServedResource[]): Body {
  const paths = new Set(fixedPaths)
  for (const { group, version } of resources) {
    if (group === '') paths.add(`/api/${version}`)
    else paths.add(`/apis/${group}`).add(`/apis/${group}/${version}`)
  }
  return { paths: [...paths].sort() }
}

/** `/version`: of the API that is served; the program is named after the `+`, which clients skip when they compare. */
export function versionInfo(): Body {
  return {
    major: '1',
    minor: '36',
    emulationMajor: '1',
    emulationMinor: '36',
    minCompatibilityMajor: '1',
    minCompatibilityMinor: '35',
    gitVersion: 'v1.36.3+kopf',
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}
