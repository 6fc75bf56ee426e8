/**
 * What the server serves, as `Resource` values. Asked in the way that takes one request per root (`/api`, `/apis`); a
 * server that does not know it answers in the old way, and is then asked for each version. One group alone is asked for in
 * the old way always: that is little, where the other way brings everything. Called by running/insights.ts.
 */
import { KopfError } from '../errors.ts'
import { formatGroupVersion, type JsonObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import { getOwn, isPlainObject } from '../util/json.ts'
import { isNotFound } from './api-error.ts'
import type { ApiCall, Session } from './calls.ts'
import { fromAggregated, fromResourceList } from './discovery-documents.ts'
import { groupPath, groupVersionPath } from './requests.ts'

export interface DiscoverOptions {
  /** Only these groups; the core group is `''`. All by default. */
  readonly groups?: readonly string[]
  readonly signal?: AbortSignal
}

/** A version of a group of which not all is known: the server behind it does not answer, or has not for a while. */
export interface DiscoveryFailure {
  readonly group: string
  readonly version: string
  readonly error: Error
}

export interface Discovered {
  readonly resources: readonly Resource[]
  /** What is in here may exist nevertheless; of a stale version, the resources it last had are among the others. */
  readonly failures: readonly DiscoveryFailure[]
}

/** Version 2 is served since Kubernetes 1.30, its beta since 1.26; the two look alike. */
const accept = [
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
  'application/json',
].join(',')

interface Version {
  readonly group: string
  readonly version: string
  readonly preferred: boolean
}

/** Rejects only where a root cannot be read: without it nothing is known at all. */
export async function discover(session: Session, options: DiscoverOptions = {}): Promise<Discovered> {
  const { groups } = options
  const roots = (['/api', '/apis'] as const).filter((root) => groups === undefined || groups.some(isIn(root)))
  const parts = await Promise.all(roots.map((root) => discoverRoot(session, root, options)))
  return merge(parts)
}

/** One group; without resources where there is no such group any more. */
export async function discoverGroup(session: Session, group: string, signal: AbortSignal): Promise<Discovered> {
  if (group === '') return discover(session, { groups: [group], signal })
  const document = await getOrEmpty(session, groupPath(group), signal)
  return discoverVersions(session, groupVersions({ groups: [document] }), signal)
}

function isIn(root: '/api' | '/apis'): (group: string) => boolean {
  return (group) => (group === '') === (root === '/api')
}

async function discoverRoot(session: Session, root: '/api' | '/apis', options: DiscoverOptions): Promise<Discovered> {
  const { groups, signal } = options
  const document = await getOrEmpty(session, root, signal, { accept })
  const isWanted = ({ group }: { readonly group: string }) => groups?.includes(group) ?? true
  if (document['kind'] === 'APIGroupDiscoveryList') {
    const versions = fromAggregated(document).filter(isWanted)
    return {
      resources: versions.flatMap(({ resources }) => resources),
      failures: versions.filter(({ isStale }) => isStale).map(toStale),
    }
  }
  const versions = (root === '/api' ? coreVersions(document) : groupVersions(document)).filter(isWanted)
  return discoverVersions(session, versions, signal)
}

async function discoverVersions(
  session: Session,
  versions: readonly Version[],
  signal?: AbortSignal,
): Promise<Discovered> {
  return merge(await Promise.all(versions.map((version) => discoverVersion(session, version, signal))))
}

/**
 * What is gone since it was announced has no resources; what cannot be asked is reported, and holds up nobody else: one
 * attempt, and those who need it come back later.
 */
async function discoverVersion(session: Session, version: Version, signal?: AbortSignal): Promise<Discovered> {
  try {
    const document = await getOrEmpty(session, groupVersionPath(version), signal, { backoffsMs: [] })
    return { resources: fromResourceList(document, version), failures: [] }
  } catch (error) {
    signal?.throwIfAborted()
    const { group, version: name } = version
    return { resources: [], failures: [{ group, version: name, error: error as Error }] }
  }
}

async function getOrEmpty(
  session: Session,
  path: string,
  signal?: AbortSignal,
  how: Pick<ApiCall, 'accept' | 'backoffsMs'> = {},
): Promise<JsonObject> {
  try {
    return await session.request({ method: 'GET', path, ...how }, signal)
  } catch (error) {
    if (isNotFound(error)) return {}
    throw error
  }
}

function coreVersions(document: JsonObject): Version[] {
  const versions = listOf(document, 'versions').filter((version) => typeof version === 'string')
  return versions.map((version, index) => ({ group: '', version, preferred: index === 0 }))
}

function groupVersions(document: JsonObject): Version[] {
  return listOf(document, 'groups')
    .filter(isPlainObject)
    .flatMap((entry) => {
      const group = getOwn(entry, 'name')
      if (typeof group !== 'string') return []
      const names = listOf(entry, 'versions').flatMap(versionOf)
      const preferred = versionOf(getOwn(entry, 'preferredVersion'))[0] ?? names[0]
      return names.map((version) => ({ group, version, preferred: version === preferred }))
    })
}

function versionOf(entry: unknown): string[] {
  const version = isPlainObject(entry) ? getOwn(entry, 'version') : undefined
  return typeof version === 'string' ? [version] : []
}

function listOf(document: JsonObject, key: string): unknown[] {
  const value = getOwn(document, key)
  return Array.isArray(value) ? value : []
}

function toStale({ group, version }: { readonly group: string; readonly version: string }): DiscoveryFailure {
  const message = `Cannot discover all of ${formatGroupVersion(group, version)}: the server behind it does not answer, and what is known of it may be out of date`
  return { group, version, error: new KopfError('KOPF_DISCOVERY', message) }
}

function merge(parts: readonly Discovered[]): Discovered {
  return {
    resources: parts.flatMap(({ resources }) => resources),
    failures: parts.flatMap(({ failures }) => failures),
  }
}
