/**
 * Makes a cluster have the objects of files, and the definitions of an operator: creates what is missing, and puts what is
 * there into the state of the file. What others keep in the metadata and the status stays.
 */
import { isAlreadyExists } from '../../client/api-error.ts'
import { KopfError } from '../../errors.ts'
import { formatGroupResource, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { monotonicMs, systemClock } from '../../util/clock.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Cluster } from '../cluster.ts'
import { isDefinition, type Manifest } from '../manifests.ts'

/** What was done, as people name it: `created gadgets.example.com/first`. */
export type Deed = `${'created' | 'changed'} ${string}`

/** How long a definition may take until objects of it can be created. */
const definingMs = 10_000

export async function applyManifests(cluster: Cluster, manifests: readonly Manifest[]): Promise<Deed[]> {
  const deeds: Deed[] = []
  for (const { file, objects } of manifests) {
    for (const object of objects.flatMap(flatten)) {
      const deed = await applyObject(cluster, object).catch((error) => rethrow(error, object, file))
      if (deed !== undefined) deeds.push(deed)
      if (isDefinition(object) && deed !== undefined) await untilServed(cluster, object)
    }
  }
  return deeds
}

function flatten(object: unknown): KubeObject[] {
  const { kind, apiVersion, items } = (object ?? {}) as { kind?: unknown; apiVersion?: unknown; items?: unknown }
  if (kind === 'List' && Array.isArray(items)) return items.flatMap(flatten)
  if (typeof kind === 'string' && typeof apiVersion === 'string') return [object as KubeObject]
  throw new KopfError('KOPF_OBJECT', 'Cannot apply an object: it has no apiVersion and kind')
}

function rethrow(error: unknown, { kind, metadata }: KubeObject, file: string | undefined): never {
  if (!(error instanceof KopfError)) throw error
  const where = file === undefined ? '' : `${file}: `
  throw new KopfError(error.code, `${where}Cannot apply ${kind} "${metadata?.name}": ${error.message}`, {
    cause: error,
  })
}

async function applyObject(cluster: Cluster, object: KubeObject): Promise<Deed | undefined> {
  const resource = await findResource(cluster, object)
  const title = (name: string | undefined) => `${formatGroupResource(resource)}/${name}`
  try {
    const created = await cluster.client.create(resource, object)
    return `created ${title(created.metadata.name)}`
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
  const { name, namespace } = object.metadata
  const present = (await cluster.client.get(
    resource,
    name!,
    namespace === undefined ? {} : { namespace },
  )) as KubeObject
  const wanted = combine(present, object)
  if (isDeepEqual(present, wanted)) return undefined
  const replaced = await cluster.client.replace(resource, wanted)
  // The server fills in what the file leaves out: then there was no difference.
  if (replaced.metadata.resourceVersion === present.metadata.resourceVersion) return undefined
  return `changed ${title(name)}`
}

/** The file decides on everything but the metadata, of which it has only a part, and the status, unless it is in it. */
function combine(present: KubeObject, object: KubeObject): KubeObject {
  const { metadata, ...others } = object
  const labels = { ...present.metadata.labels, ...metadata.labels }
  const annotations = { ...present.metadata.annotations, ...metadata.annotations }
  return {
    ...(present['status'] === undefined ? {} : { status: present['status'] }),
    ...others,
    metadata: {
      ...present.metadata,
      ...metadata,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  }
}

async function findResource(cluster: Cluster, { apiVersion, kind }: KubeObject): Promise<Resource> {
  const groupVersion = parseGroupVersion(apiVersion)
  if (groupVersion === undefined) throw new KopfError('KOPF_OBJECT', `"${apiVersion}" is no apiVersion`)
  return cluster.find({ ...groupVersion, kind })
}

/** A definition takes effect a moment after it was stored. */
async function untilServed(cluster: Cluster, definition: KubeObject): Promise<void> {
  const { group, names } = definition['spec'] as unknown as { group: string; names: { kind: string } }
  const untilMs = monotonicMs() + definingMs
  for (;;) {
    cluster.forget()
    const resources = await cluster.resources()
    if (resources.some((one) => one.group === group && one.kind === names.kind)) return
    if (monotonicMs() > untilMs) {
      throw new KopfError('KOPF_RESOURCE', `Cannot use the definition of ${names.kind}: the cluster does not serve it`)
    }
    await systemClock.sleep(50)
  }
}
