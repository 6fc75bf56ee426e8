/**
 * Lets the cluster migrate stored objects by a StorageVersionMigration (storagemigration.k8s.io), and waits for its end. Called by migrate.ts, which rewrites
 * the objects itself if this is not possible.
 */
import { isForbidden, isNotFound } from '../../../client/api-error.ts'
import { collectionPath, objectPath } from '../../../client/paths.ts'
import type { Session } from '../../../client/session.ts'
import { formatGroupVersion, type KubeObject } from '../../../kube/objects.ts'
import type { Resource } from '../../../kube/resources/resources.ts'
import { monotonicNow, systemClock, trySleep } from '../../../util/async/clock.ts'
import { getObjects, getString } from '../../../util/json/json.ts'
import type { MigrationTarget } from './migration-plan.ts'

export type MigrationResult =
  | { readonly type: 'succeeded' }
  | { readonly type: 'stopped' }
  /** The cluster does not migrate the objects. `why` continues the sentence "The cluster …". */
  | { readonly type: 'unavailable'; readonly why: string }

const pollMs = 1000

/**
 * The API is served by kube-apiserver, the work is done by kube-controller-manager. It sets a condition within a second or two if it has the controller.
 */
const maxIdleMs = 15_000

/** Newest first. v1alpha1 was served from Kubernetes 1.30 to 1.34, v1beta1 since 1.35. */
const versions = ['v1', 'v1beta1', 'v1alpha1']

export function findMigrationResource(resources: readonly Resource[]): Resource | undefined {
  const served = resources.filter(
    ({ group, plural }) => group === 'storagemigration.k8s.io' && plural === 'storageversionmigrations',
  )
  return versions.flatMap((version) => served.find((one) => one.version === version) ?? [])[0]
}

/** Creates the migration, waits until it has ended, and deletes it. */
export async function migrateByCluster(
  session: Session,
  resource: Resource,
  target: MigrationTarget,
  signal: AbortSignal,
): Promise<MigrationResult> {
  const { group, version, plural } = target.resource
  const created = await create(session, resource, {
    apiVersion: formatGroupVersion(resource.group, resource.version),
    kind: resource.kind,
    metadata: { generateName: `kopf-${plural}-` },
    spec: { resource: { group, resource: plural, ...(resource.version === 'v1alpha1' && { version }) } },
  })
  if (typeof created === 'string') return { type: 'unavailable', why: created }
  const path = objectPath(resource, { name: created.metadata.name! })
  try {
    return await waitForEnd(session, path, signal)
  } finally {
    await session.request({ method: 'DELETE', path }).catch(() => {})
  }
}

/** Resolves to the reason if the migration cannot be created. */
async function create(session: Session, resource: Resource, body: object): Promise<KubeObject | string> {
  try {
    return (await session.request({ method: 'POST', path: collectionPath(resource), body })) as unknown as KubeObject
  } catch (error) {
    if (isForbidden(error)) return `does not allow this user to create ${resource.plural}.${resource.group}`
    if (isNotFound(error)) return `no longer serves ${resource.plural}.${resource.group}`
    throw error
  }
}

async function waitForEnd(session: Session, path: string, signal: AbortSignal): Promise<MigrationResult> {
  const startMs = monotonicNow(systemClock)
  for (;;) {
    const { status } = (await session.request({ method: 'GET', path })) as unknown as KubeObject
    const state = stateOf((status ?? {}) as Record<string, unknown>)
    if (state.type === 'succeeded' || state.type === 'unavailable') return state
    if (state.type === 'idle' && monotonicNow(systemClock) - startMs > maxIdleMs) {
      const why = `serves StorageVersionMigration, but has not started the migration within ${maxIdleMs / 1000} seconds`
      return { type: 'unavailable', why }
    }
    if (!(await trySleep(systemClock, pollMs, signal))) return { type: 'stopped' }
  }
}

function stateOf(status: Record<string, unknown>): MigrationResult | { readonly type: 'idle' | 'running' } {
  const conditions = getObjects(status, 'conditions').filter((condition) => condition['status'] === 'True')
  const find = (type: string) => conditions.find((condition) => condition['type'] === type)
  if (find('Succeeded') !== undefined) return { type: 'succeeded' }
  const failed = find('Failed')
  if (failed !== undefined)
    return {
      type: 'unavailable',
      why: `could not migrate the objects: ${getString(failed, 'message') ?? 'no message'}`,
    }
  const hasBegun = conditions.length > 0 || getString(status, 'resourceVersion') !== undefined
  return { type: hasBegun ? 'running' : 'idle' }
}
