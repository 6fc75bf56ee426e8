/**
 * Writes a record into peering objects: in all matching namespaces, and in both API groups if the cluster serves both. For `kopf freeze` and
 * `kopf resume`.
 */
import { isForbidden, isNotFound } from '../../client/api-error.ts'
import { discover } from '../../client/discovery/discovery.ts'
import { createHttpsTransport } from '../../client/http/transport.ts'
import { collectionPath, objectPath } from '../../client/paths.ts'
import { createSession, type Session } from '../../client/session.ts'
import { KopfError } from '../../errors.ts'
import { isExactNamespace, matchesNamespace } from '../../kube/namespaces.ts'
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import { peeringGroups, pluralOfPeerings, selectPeerings } from '../../kube/peerings.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { systemClock } from '../../util/async/clock.ts'
import type { Logger } from '../../util/log/log.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import { suggestName } from '../../util/text/did-you-mean.ts'
import { type ClusterArguments, login } from '../options/cluster.ts'

export interface PeeringTarget extends ClusterArguments {
  /** The name of the peering. */
  readonly name: string
  /** Namespace patterns; undefined for the cluster-scoped peering. */
  readonly namespaces: readonly string[] | undefined
}

interface PeeringPlace {
  readonly resource: Resource
  readonly namespace: string | undefined
}

/** Short timeouts and few retries: a user waits for the command. */
const networking = { requestTimeout: 30, connectTimeout: 10, errorBackoffs: [1, 1, 2], enforceRetryAfter: false }

interface Report {
  readonly logger: Logger
  /** Logged for each peering that was patched. */
  readonly done: string
}

/**
 * Patches the peering in each place and logs `done` for it. Throws after all writes if a place has no such peering: a script must notice that
 * operators were not paused. A namespace that only matches a pattern may have none, as long as another one has it.
 */
export async function writeRecords(target: PeeringTarget, patch: JsonObject, report: Report): Promise<void> {
  const transport = createHttpsTransport(await login(target))
  try {
    const userAgent = `kopf/${packageVersion()}`
    const session = createSession({ transport, networking, clock: systemClock, userAgent })
    const written = new Set<string | undefined>()
    const missing: PeeringPlace[] = []
    for (const place of await findPlaces(session, target)) {
      if (await write(session, target.name, place, patch)) {
        written.add(place.namespace)
        report.logger.info(`The peering "${target.name}" ${whereOf(place)}: ${report.done}.`)
      } else missing.push(place)
    }
    // A cluster that serves both API groups usually has the peering in one of them.
    const isNeeded = ({ namespace }: PeeringPlace) =>
      !written.has(namespace) && (written.size === 0 || target.namespaces?.includes(namespace!))
    const lacking = missing.find(isNeeded)
    if (lacking !== undefined) throw await missingPeering(session, target.name, lacking)
  } finally {
    await transport.close()
  }
}

async function findPlaces(session: Session, { namespaces }: PeeringTarget): Promise<PeeringPlace[]> {
  const isClusterwide = namespaces === undefined
  const { resources } = await discover(session, { groups: peeringGroups })
  const found = selectPeerings(resources, isClusterwide)
  if (found.length === 0) {
    const plural = pluralOfPeerings(isClusterwide)
    throw new KopfError(
      'KOPF_PEERING',
      `Cannot find the resource ${plural}.kopf.dev: the cluster does not serve it; install the CRDs of peerings: ` +
        'kubectl apply -f node_modules/kopf/peering.yaml',
    )
  }
  const names = isClusterwide ? [undefined] : await findNamespaces(session, namespaces)
  return found.flatMap((resource) => names.map((namespace) => ({ resource, namespace })))
}

async function findNamespaces(session: Session, patterns: readonly string[]): Promise<string[]> {
  if (patterns.every((pattern) => isExactNamespace(pattern))) return [...patterns]
  const path = collectionPath({ group: '', version: 'v1', plural: 'namespaces', namespaced: false })
  const { items } = await session.request({ method: 'GET', path })
  const names = ((items ?? []) as unknown as KubeObject[]).map(({ metadata }) => metadata.name!)
  const found = names.filter((name) => patterns.some((pattern) => matchesNamespace(pattern, name)))
  if (found.length > 0) return found
  throw new KopfError('KOPF_PEERING', `Cannot find any namespace that matches ${patterns.join(' ')}`)
}

/** Returns whether the peering exists. */
async function write(
  session: Session,
  name: string,
  { resource, namespace }: PeeringPlace,
  body: JsonObject,
): Promise<boolean> {
  const path = objectPath(resource, { name, namespace })
  try {
    await session.request({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    if (!isForbidden(error)) throw error
    const rule = `apiGroups: ["${resource.group}"], resources: ["${resource.plural}"], verbs: ["patch"]`
    throw new KopfError('KOPF_FORBIDDEN', `${error.message}\nGrant the user a role with the rule: ${rule}`, {
      cause: error,
    })
  }
}

function whereOf({ namespace }: PeeringPlace): string {
  return namespace === undefined ? 'cluster-wide' : `in "${namespace}"`
}

async function missingPeering(session: Session, name: string, place: PeeringPlace): Promise<KopfError> {
  const existing = await listPeerings(session, place)
  const suggestion = suggestName(name, existing)
  const others =
    existing.length === 0 ? '' : `; there ${existing.length === 1 ? 'is' : 'are'} ${existing.map(quote).join(', ')}`
  const advice =
    suggestion === undefined
      ? `create it: ${creationCommand(name, place)}`
      : `did you mean "${suggestion}"? To create "${name}": ${creationCommand(name, place)}`
  return new KopfError('KOPF_PEERING', `Cannot find the peering "${name}" ${whereOf(place)}${others}; ${advice}`)
}

/** The maximum number of peerings that an error lists. */
const maxListed = 10

/** The names of existing peerings, for an error. None if the user may not list them. */
async function listPeerings(session: Session, { resource, namespace }: PeeringPlace): Promise<string[]> {
  const path = collectionPath(resource, namespace)
  try {
    const { items } = await session.request({ method: 'GET', path, query: { limit: maxListed } })
    return ((items ?? []) as unknown as KubeObject[]).map(({ metadata }) => metadata.name!).slice(0, maxListed)
  } catch {
    return []
  }
}

function quote(name: string): string {
  return `"${name}"`
}

function creationCommand(name: string, { resource, namespace }: PeeringPlace): string {
  const { group, version, kind } = resource
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
  const object = JSON.stringify({ apiVersion: formatGroupVersion(group, version), kind, metadata })
  return `echo '${object}' | kubectl apply -f -`
}
