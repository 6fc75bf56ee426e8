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

/** Patches each peering and logs `done` for it. A missing peering is a warning, not a failure, as in Kopf. */
export async function writeRecords(
  target: PeeringTarget,
  patch: JsonObject,
  { logger, done }: { readonly logger: Logger; readonly done: string },
): Promise<void> {
  const transport = createHttpsTransport(await login(target))
  try {
    const userAgent = `kopf/${packageVersion()}`
    const session = createSession({ transport, networking, clock: systemClock, userAgent })
    for (const place of await findPlaces(session, target)) {
      const where = place.namespace === undefined ? 'cluster-wide' : `in "${place.namespace}"`
      const exists = await write(session, target.name, place, patch)
      if (exists) logger.info(`The peering "${target.name}" ${where}: ${done}.`)
      else
        logger.warn(
          `There is no peering "${target.name}" ${where}, nothing was done: ${creationCommand(target.name, place)}`,
        )
    }
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
      `Cannot find the resource ${plural}.kopf.dev: the cluster does not serve it; install what is needed for peerings: ` +
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
  throw new KopfError('KOPF_PEERING', `Cannot find any namespace that is meant by ${patterns.join(' ')}`)
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

function creationCommand(name: string, { resource, namespace }: PeeringPlace): string {
  const { group, version, kind } = resource
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) }
  const object = JSON.stringify({ apiVersion: formatGroupVersion(group, version), kind, metadata })
  return `echo '${object}' | kubectl apply -f -`
}
