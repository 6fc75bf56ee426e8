/**
 * Discovers the resources of the cluster, for discovery-cache.ts. Aggregated discovery takes one request per root (`/api`, `/apis`).
 * A server without it responds in the old form, and then gets one request per version. A single group is always read in the old form,
 * since aggregated discovery returns all groups.
 */
import { KopfError } from '../../errors.ts'
import { formatGroupVersion, type JsonObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { getObject, getObjects, getString, getStrings } from '../../util/json/json.ts'
import { isNotFound } from '../api-error.ts'
import { groupPath, groupVersionPath } from '../paths.ts'
import type { ApiCall, Session } from '../session.ts'
import { fromAggregated, fromResourceList } from './discovery-documents.ts'

export interface DiscoverOptions {
  /** Only these groups; the core group is `''`. Default: all groups. */
  readonly groups?: readonly string[]
  readonly signal?: AbortSignal
}

/** A group version whose resources are not fully known, because its aggregated API server does not respond. */
export interface DiscoveryFailure {
  readonly group: string
  readonly version: string
  readonly error: Error
}

export interface Discovered {
  readonly resources: readonly Resource[]
  /** Resources of these versions may exist. For a stale version, `resources` has the last known ones. */
  readonly failures: readonly DiscoveryFailure[]
}

/** v2 is served since Kubernetes 1.30, v2beta1 since 1.26; both have the same format. */
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

/** Discovers all groups, or those of the options. Rejects only if a root (`/api`, `/apis`) cannot be read. */
export async function discover(session: Session, options: DiscoverOptions = {}): Promise<Discovered> {
  const { groups } = options
  const roots = (['/api', '/apis'] as const).filter((root) => groups === undefined || groups.some(isGroupOf(root)))
  const parts = await Promise.all(roots.map((root) => discoverRoot(session, root, options)))
  return merge(parts)
}

/** Discovers one group; without resources if the group does not exist. */
export async function discoverGroup(session: Session, group: string, signal: AbortSignal): Promise<Discovered> {
  if (group === '') return discover(session, { groups: [group], signal })
  const document = await getOrEmpty(session, groupPath(group), signal)
  return discoverVersions(session, groupVersions({ groups: [document] }), signal)
}

function isGroupOf(root: '/api' | '/apis'): (group: string) => boolean {
  return (group) => (group === '') === (root === '/api')
}

async function discoverRoot(session: Session, root: '/api' | '/apis', options: DiscoverOptions): Promise<Discovered> {
  const { groups, signal } = options
  const document = await getOrEmpty(session, root, signal, { accept })
  const isRequested = ({ group }: { readonly group: string }) => groups?.includes(group) ?? true
  if (document['kind'] === 'APIGroupDiscoveryList') {
    const versions = fromAggregated(document).filter(isRequested)
    return {
      resources: versions.flatMap(({ resources }) => resources),
      failures: versions.filter(({ isStale }) => isStale).map(toStale),
    }
  }
  const versions = (root === '/api' ? coreVersions(document) : groupVersions(document)).filter(isRequested)
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
 * Discovers one version in one attempt. A version that was removed meanwhile has no resources; a version that fails is reported in
 * `failures` and does not delay the others.
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
  options: Pick<ApiCall, 'accept' | 'backoffsMs'> = {},
): Promise<JsonObject> {
  try {
    return await session.request({ method: 'GET', path, purpose: 'discovery', ...options }, signal)
  } catch (error) {
    if (isNotFound(error)) return {}
    throw error
  }
}

function coreVersions(document: JsonObject): Version[] {
  return getStrings(document, 'versions').map((version, index) => ({ group: '', version, preferred: index === 0 }))
}

function groupVersions(document: JsonObject): Version[] {
  return getObjects(document, 'groups').flatMap((entry) => {
    const group = getString(entry, 'name')
    if (group === undefined) return []
    const names = getObjects(entry, 'versions').flatMap((version) => getString(version, 'version') ?? [])
    const preferred = getString(getObject(entry, 'preferredVersion') ?? {}, 'version') ?? names[0]
    return names.map((version) => ({ group, version, preferred: version === preferred }))
  })
}

function toStale({ group, version }: { readonly group: string; readonly version: string }): DiscoveryFailure {
  const message = `Cannot discover all of ${formatGroupVersion(group, version)}: the server behind it does not answer, so its known resources may be out of date`
  return { group, version, error: new KopfError('KOPF_DISCOVERY', message) }
}

function merge(parts: readonly Discovered[]): Discovered {
  return {
    resources: parts.flatMap(({ resources }) => resources),
    failures: parts.flatMap(({ failures }) => failures),
  }
}
