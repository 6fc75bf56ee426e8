/**
 * Makes a cluster have the objects of files, and the definitions of an operator: creates what is missing, and puts what is
 * there into the state of the file. What others keep in the metadata and the status stays.
 */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import type { WriteOptions } from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import { formatGroupResource, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { monotonicMs, systemClock } from '../../util/clock.ts'
import { isDeepEqual } from '../../util/equality.ts'
import type { Cluster } from '../cluster.ts'
import { isDefinition, type Manifest } from '../manifests.ts'

/** What was done, as people name it: `created gadgets.example.com/first`. */
export type Deed = `${'created' | 'changed' | 'deleted'} ${string}`

/** How the file had an object when it was last applied, if it did. */
type Before = (object: KubeObject) => KubeObject | undefined

interface Application {
  readonly before: Before
  readonly options: WriteOptions
}

/**
 * An unknown or duplicate field in a file is a typing error, and is refused as `kopf run` and kubectl do, with an error that names
 * it. Generated CRDs are not checked: an older API server drops a field that it does not know yet, and works without it.
 */
const strict: WriteOptions = { fieldValidation: 'Strict' }

/** How long a definition may take until objects of it can be created. */
const definingMs = 10_000

export async function applyManifests(
  cluster: Cluster,
  manifests: readonly Manifest[],
  before: Before = () => undefined,
): Promise<Deed[]> {
  const deeds: Deed[] = []
  for (const { file, objects } of manifests) {
    for (const object of objects.flatMap(flatten)) {
      const applying = applyObject(cluster, object, { before, options: file === undefined ? {} : strict })
      const deed = await applying.catch((error) => rethrow(error, object, file))
      if (deed !== undefined) deeds.push(deed)
      if (isDefinition(object) && deed !== undefined) await untilServed(cluster, object)
    }
  }
  return deeds
}

/** Deletes what is still there, in this order. */
export async function deleteObjects(cluster: Cluster, objects: readonly KubeObject[]): Promise<Deed[]> {
  const deeds: Deed[] = []
  for (const object of objects) {
    const { name, namespace } = object.metadata
    try {
      const resource = await findResource(cluster, object)
      await cluster.client.delete(resource, name!, namespace === undefined ? {} : { namespace })
      deeds.push(`deleted ${formatGroupResource(resource)}/${name}`)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  return deeds
}

/** The objects of a list, or the one that it is. */
export function flatten(object: unknown): KubeObject[] {
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

async function applyObject(
  cluster: Cluster,
  object: KubeObject,
  { before, options }: Application,
): Promise<Deed | undefined> {
  const resource = await findResource(cluster, object)
  const title = (name: string | undefined) => `${formatGroupResource(resource)}/${name}`
  try {
    const created = await cluster.client.create(resource, object, options)
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
  const wanted = combine(present, object, before(object))
  if (isDeepEqual(present, wanted)) return undefined
  const replaced = await cluster.client.replace(resource, wanted, options)
  // The server fills in what the file leaves out: then there was no difference.
  if (replaced.metadata.resourceVersion === present.metadata.resourceVersion) return undefined
  return `changed ${title(name)}`
}

/** The file decides on everything but the metadata, of which it has only a part, and the status, unless it is in it. */
function combine(present: KubeObject, object: KubeObject, before: KubeObject | undefined): KubeObject {
  const { metadata, ...others } = object
  const mapOf = (key: 'labels' | 'annotations') => ({
    ...without(present.metadata[key] ?? {}, before?.metadata[key] ?? {}),
    ...metadata[key],
  })
  const [labels, annotations] = [mapOf('labels'), mapOf('annotations')]
  return {
    ...(present['status'] === undefined ? {} : { status: present['status'] }),
    ...others,
    metadata: {
      ...present.metadata,
      ...metadata,
      ...(present.metadata.labels || metadata.labels ? { labels } : {}),
      ...(present.metadata.annotations || metadata.annotations ? { annotations } : {}),
    },
  }
}

function without(map: Readonly<Record<string, string>>, keys: object): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !(key in keys)))
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
