/**
 * Advice about names that the cluster does not have: objects and namespaces. Sends requests only after a name was not found: one for the namespace, and
 * one for the existing names. Without the permission for them, there is no advice.
 */
import { reviewAccess } from '../client/access-reviews.ts'
import { isNotFound } from '../client/api-error.ts'
import { collectionPath, type Located, objectPath } from '../client/paths.ts'
import type { Session } from '../client/session.ts'
import { isExactNamespace } from '../kube/namespaces.ts'
import type { KubeObject } from '../kube/objects.ts'
import { namespacesResource } from '../kube/resources/well-known.ts'
import type { RunningOperator, RunOptions } from '../operator.ts'
import { sessionOf } from '../run/options.ts'
import { createLogger, type LogSink } from '../util/log/log.ts'
import { listNames, suggestName } from '../util/text/did-you-mean.ts'

/** How many existing names are compared with the given one. */
const maxCompared = 500
/** How many of the namespaces that an operator serves are checked. */
const maxChecked = 20
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

/** An object that was not found. */
export interface MissingObject {
  readonly resource: Located
  readonly name: string
  /** Undefined for a cluster-scoped object. */
  readonly namespace: string | undefined
}

/** Why an object was not found, as the end of a sentence: its namespace does not exist, or there are other names. */
export async function describeMissing(session: Session, { resource, name, namespace }: MissingObject): Promise<string> {
  const place = resource.namespaced && namespace !== undefined ? namespace : undefined
  const otherNamespaces = place === undefined ? undefined : await adviseOnNamespace(session, place)
  if (otherNamespaces !== undefined) return `the namespace "${place}" does not exist${otherNamespaces}`
  const where = place === undefined ? '' : ` in the namespace "${place}"`
  const advice = await adviseOn(session, collectionPath(resource, place), name)
  return `there is no object of that name${where}${advice}`
}

/** If the namespace does not exist: advice on its name, possibly empty. Undefined if it exists, or if the user may not read it. */
export async function adviseOnNamespace(session: Session, name: string): Promise<string | undefined> {
  const path = objectPath(namespacesResource, { name })
  const isMissing = await session.request({ method: 'GET', path }).then(() => false, isNotFound)
  return isMissing ? adviseOn(session, collectionPath(namespacesResource), name) : undefined
}

/** The most similar of the existing names, or some of them. Empty if the user may not list them. */
async function adviseOn(session: Session, path: string, name: string): Promise<string> {
  const call = { method: 'GET', path, query: { limit: maxCompared }, accept: metadataOnly } as const
  const page = await session.request(call).catch(() => undefined)
  if (page === undefined) return ''
  const items = (page['items'] ?? []) as unknown as readonly KubeObject[]
  const names = items.map(({ metadata }) => String(metadata.name))
  const meant = suggestName(name, names)
  if (meant !== undefined) return `; did you mean "${meant}"?`
  return names.length === 0 ? '; there are no others' : `; there are ${listNames(names)}`
}

/**
 * Warns of namespaces that do not exist: their names may be misspelt. The operator serves them, since they may be created later. Sends one request per name, and
 * none for patterns. An operator with the permissions of `kopf manifests` may not read namespaces: it asks for that permission first, and sends no request that
 * would be refused.
 */
export async function warnOfMissingNamespaces(
  running: RunningOperator,
  { namespaces = [] }: RunOptions,
  sink: LogSink,
): Promise<void> {
  const names = namespaces.filter(isExactNamespace).slice(0, maxChecked)
  const session = sessionOf(running)
  if (names.length === 0 || !(await mayReadNamespaces(session, running.stopping))) return
  for (const name of names) {
    const advice = await adviseOnNamespace(session, name.trim()).catch(() => undefined)
    if (advice === undefined) continue
    const message = `The namespace "${name.trim()}" does not exist: it is served as soon as it is created${advice}`
    createLogger(sink, 'kopf.cli').warn(message)
  }
}

function mayReadNamespaces(session: Session, signal: AbortSignal): Promise<boolean> {
  const access = { verb: 'get', group: '', resource: 'namespaces', namespace: undefined }
  return reviewAccess(session, access, signal).catch(() => false)
}
