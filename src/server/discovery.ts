/**
 * Discovery documents: the groups, versions and resources that are served. Pure functions of the registry's resources. Aggregated
 * discovery is in aggregated-discovery.ts.
 */
import { createHash } from 'node:crypto'
import { formatGroupVersion } from '../kube/objects.ts'
import { type ApiGroup, sortGroups } from './group-order.ts'
import type { ApiResource, Subresource } from './resource.ts'
import { kubernetesVersion } from './version.ts'

/** A discovery document, ready to be serialised. */
export type DiscoveryDocument = Record<string, unknown>

/** `/api`; `serverAddress` is the address of this server. Without `apiVersion`, as in kube-apiserver. */
export function apiVersions(serverAddress: string): DiscoveryDocument {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** `/apis` */
export function apiGroupList(resources: readonly ApiResource[]): DiscoveryDocument {
  const groups = sortGroups(resources, 'version').filter((group) => group.name !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(toGroup) }
}

/** `/apis/<group>`; undefined if there is no such group. */
export function apiGroup(resources: readonly ApiResource[], name: string): DiscoveryDocument | undefined {
  const group = sortGroups(resources, 'version').find((candidate) => candidate.name === name)
  return group && { kind: 'APIGroup', apiVersion: 'v1', ...toGroup(group) }
}

function toGroup({ name, versions }: ApiGroup): DiscoveryDocument {
  const entries = versions.map((version) => ({ groupVersion: formatGroupVersion(name, version), version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

/** `/api/v1`, `/apis/<group>/<version>`; undefined if there is no such version. */
export function apiResourceList(
  resources: readonly ApiResource[],
  group: string,
  version: string,
): DiscoveryDocument | undefined {
  const served = resourcesOf(resources, group, version)
  if (served.length === 0) return undefined
  return {
    kind: 'APIResourceList',
    // The core group's list has no apiVersion, as in kube-apiserver.
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: formatGroupVersion(group, version),
    resources: served.flatMap((resource) => [
      toApiResource(resource, resources),
      ...subresourcesOf(resource).map((subresource) => toApiSubresource(resource, subresource)),
    ]),
  }
}

/** The resources of one version in the order of the document. */
export function resourcesOf(resources: readonly ApiResource[], group: string, version: string): ApiResource[] {
  return resources
    .filter((resource) => resource.group === group && resource.version === version)
    .sort((one, other) => (one.plural < other.plural ? -1 : 1))
}

/** Subresources of CRDs keep the order of the CRD controller; those of built-in kinds are sorted by name. */
export function subresourcesOf({ subresources, isCustom }: ApiResource): readonly Subresource[] {
  return isCustom ? subresources : subresources.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function toApiResource(resource: ApiResource, all: readonly ApiResource[]): DiscoveryDocument {
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

/** The verbs of built-in kinds are sorted. */
export function verbsOf({ verbs, isCustom }: ApiResource): readonly string[] {
  return isCustom ? verbs : verbs.toSorted()
}

/** Short names and categories, omitted if empty. */
export function namesOf({ shortNames, categories }: ApiResource): DiscoveryDocument {
  return { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) }
}

function toApiSubresource(resource: ApiResource, subresource: Subresource): DiscoveryDocument {
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

/** Changes when the stored version changes. Resources that are not stored, for example reviews, have none. */
function storageHash(resource: ApiResource, all: readonly ApiResource[]): string | undefined {
  if (!resource.verbs.includes('watch')) return undefined
  const isStored = (one: ApiResource): boolean => one.conversion === undefined && one.collection === resource.collection
  const stored = isStored(resource) ? resource : all.find(isStored)
  if (stored === undefined) return undefined
  const { group, kind } = stored
  // kube-apiserver still stores CRDs as v1beta1, although that version is no longer served.
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
export function rootPaths(resources: readonly ApiResource[]): DiscoveryDocument {
  const paths = new Set(fixedPaths)
  for (const { group, version } of resources) {
    if (group === '') paths.add(`/api/${version}`)
    else paths.add(`/apis/${group}`).add(`/apis/${group}/${version}`)
  }
  return { paths: [...paths].sort() }
}

/** `/version` of the emulated API. The program is named after the `+`, which clients ignore in comparisons. */
export function versionInfo(): DiscoveryDocument {
  return {
    major: '1',
    minor: '36',
    emulationMajor: '1',
    emulationMinor: '36',
    minCompatibilityMajor: '1',
    minCompatibilityMinor: '35',
    gitVersion: `v${kubernetesVersion}+kopf`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}
