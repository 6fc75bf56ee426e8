/**
 * Empties the embedded server for the key `x` of `kopf dev`: deletes every object that a new server would not have, with its finalizers. Never
 * called for a cluster of the user.
 */
import { isConflict, isNotFound } from '../../client/api-error.ts'
import { collectionPath } from '../../client/paths.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import type { Transport } from '../../util/transport.ts'
import { CommandCluster } from '../cluster.ts'

/** Controllers and the garbage collector may create or delete objects meanwhile: the walk is repeated until nothing is left. */
const maxRounds = 5
const pageSize = 500

/** Deletes all objects that are not on the server `fresh`, which has just been created. Returns their number. */
export async function resetCluster(cluster: CommandCluster, fresh: Transport): Promise<number> {
  const kept = new Set<string>()
  await using initial = new CommandCluster(fresh)
  for (const resource of await findDeletable(initial)) {
    for await (const object of listAll(initial, resource)) kept.add(keyOf(resource, object))
  }
  let total = 0
  for (let round = 0; round < maxRounds; round += 1) {
    const deleted = await deleteOthers(cluster, kept)
    total += deleted
    if (deleted === 0) break
  }
  return total
}

async function deleteOthers(cluster: CommandCluster, kept: ReadonlySet<string>): Promise<number> {
  let deleted = 0
  cluster.invalidate()
  for (const resource of await findDeletable(cluster)) {
    const objects: KubeObject[] = []
    for await (const object of listAll(cluster, resource)) {
      if (!kept.has(keyOf(resource, object))) objects.push(object)
    }
    for (const object of objects) deleted += await deleteObject(cluster, resource, object)
  }
  cluster.invalidate()
  return deleted
}

/** One version of each resource. Custom objects come first, then built-in ones, then namespaces and CRDs, which contain the others. */
async function findDeletable(cluster: CommandCluster): Promise<Resource[]> {
  const all = await cluster.resources()
  const found = all.filter(({ verbs, preferred }) => preferred && verbs.includes('list') && verbs.includes('delete'))
  const rank = ({ group, plural }: Resource) =>
    plural === 'customresourcedefinitions' || (group === '' && plural === 'namespaces')
      ? 2
      : group.includes('.k8s.io') || !group.includes('.')
        ? 1
        : 0
  return found.toSorted((a, b) => rank(a) - rank(b))
}

async function* listAll(cluster: CommandCluster, resource: Resource): AsyncGenerator<KubeObject> {
  let token: string | undefined
  do {
    const query = { limit: pageSize, continue: token }
    const page = await cluster.session
      .request({ method: 'GET', path: collectionPath(resource), query })
      .catch((error) => {
        // The resource of a CRD that has just been deleted.
        if (isNotFound(error)) return {}
        throw error
      })
    const { items = [], metadata = {} } = page as { items?: KubeObject[]; metadata?: { continue?: string } }
    yield* items
    token = metadata.continue || undefined
  } while (token !== undefined)
}

/** Removes the finalizers first: the operator that would remove them does not run. */
async function deleteObject(cluster: CommandCluster, resource: Resource, { metadata }: KubeObject): Promise<number> {
  const { name, namespace, finalizers = [] } = metadata
  const where = namespace === undefined ? {} : { namespace }
  try {
    if (finalizers.length > 0) {
      await cluster.client.patch(resource, name!, { metadata: { finalizers: null } }, where)
    }
    await cluster.client.delete(resource, name!, { ...where, gracePeriodSeconds: 0 })
    return 1
  } catch (error) {
    // Already deleted, with its owner or its namespace.
    if (isNotFound(error) || isConflict(error)) return 0
    throw error
  }
}

function keyOf({ group, plural }: Resource, { metadata }: KubeObject): string {
  return [plural, group, metadata.namespace ?? '', metadata.name].join('/')
}
