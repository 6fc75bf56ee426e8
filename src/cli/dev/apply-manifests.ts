/**
 * Applies the objects of files, and the CRDs of an operator, to a cluster: creates missing objects, and replaces existing ones by the state in the
 * file. Keeps metadata and status that other clients wrote. Remembers the applied objects, to delete those that are removed from a file.
 */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import type { WriteOptions } from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import { formatGroupResource, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { CommandCluster } from '../cluster.ts'
import { isCrd, type ManifestFile } from '../read-manifests.ts'

/** A description for the user: `created gadgets.example.com/first`. */
export type AppliedAction = `${'created' | 'changed' | 'deleted'} ${string}`

/** Returns the state of an object in its file when it was last applied; undefined if it was not. */
type PreviousObject = (object: KubeObject) => KubeObject | undefined

interface ApplyManifestsOptions {
  readonly before: PreviousObject
  readonly options: WriteOptions
}

/**
 * Unknown and duplicate fields in a file are rejected with an error that names them, as by `kopf run` and kubectl. Generated CRDs are not
 * checked: an older API server drops fields that it does not know, and works without them.
 */
const strict: WriteOptions = { fieldValidation: 'Strict' }

/** The time limit for a new CRD to be served. */
const crdTimeoutMs = 10_000

export async function applyManifests(
  cluster: CommandCluster,
  manifests: readonly ManifestFile[],
  before: PreviousObject = () => undefined,
): Promise<AppliedAction[]> {
  const actions: AppliedAction[] = []
  for (const { file, objects } of manifests) {
    for (const object of objects.flatMap(flatten)) {
      const applying = applyObject(cluster, object, { before, options: file === undefined ? {} : strict })
      const action = await applying.catch((error) => rethrow(error, object, file))
      if (action !== undefined) actions.push(action)
      if (isCrd(object) && action !== undefined) await untilServed(cluster, object)
    }
  }
  return actions
}

/** Deletes the objects in this order. Missing objects are skipped. */
export async function deleteObjects(cluster: CommandCluster, objects: readonly KubeObject[]): Promise<AppliedAction[]> {
  const actions: AppliedAction[] = []
  for (const object of objects) {
    const { name, namespace } = object.metadata
    try {
      const resource = await findResource(cluster, object)
      await cluster.client.delete(resource, name!, namespace === undefined ? {} : { namespace })
      actions.push(`deleted ${formatGroupResource(resource)}/${name}`)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
  return actions
}

/** The items of a List, or the object itself. */
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

async function applyObject(
  cluster: CommandCluster,
  object: KubeObject,
  { before, options }: ApplyManifestsOptions,
): Promise<AppliedAction | undefined> {
  const resource = await findResource(cluster, object)
  const title = (name: string | undefined) => `${formatGroupResource(resource)}/${name}`
  try {
    const created = await cluster.client.create(resource, object, options)
    return `created ${title(created.metadata.name)}`
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
  }
  const { name, namespace } = object.metadata
  const existing = (await cluster.client.get(
    resource,
    name!,
    namespace === undefined ? {} : { namespace },
  )) as KubeObject
  const desired = combine(existing, object, before(object))
  if (isDeepEqual(existing, desired)) return undefined
  const replaced = await cluster.client.replace(resource, desired, options)
  // The server sets defaults for fields that the file omits. With the same version, nothing has changed.
  if (replaced.metadata.resourceVersion === existing.metadata.resourceVersion) return undefined
  return `changed ${title(name)}`
}

/** The file replaces all fields, except the status if the file has none. Its metadata is merged. */
function combine(existing: KubeObject, object: KubeObject, before: KubeObject | undefined): KubeObject {
  const { metadata, ...others } = object
  const mapOf = (key: 'labels' | 'annotations') => ({
    ...without(existing.metadata[key] ?? {}, before?.metadata[key] ?? {}),
    ...metadata[key],
  })
  const [labels, annotations] = [mapOf('labels'), mapOf('annotations')]
  return {
    ...(existing['status'] === undefined ? {} : { status: existing['status'] }),
    ...others,
    metadata: {
      ...existing.metadata,
      ...metadata,
      ...(existing.metadata.labels || metadata.labels ? { labels } : {}),
      ...(existing.metadata.annotations || metadata.annotations ? { annotations } : {}),
    },
  }
}

function without(map: Readonly<Record<string, string>>, keys: object): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !(key in keys)))
}

async function findResource(cluster: CommandCluster, { apiVersion, kind }: KubeObject): Promise<Resource> {
  const groupVersion = parseGroupVersion(apiVersion)
  if (groupVersion === undefined) throw new KopfError('KOPF_OBJECT', `"${apiVersion}" is not an apiVersion`)
  return cluster.find({ ...groupVersion, kind })
}

/** Waits until discovery shows the resource: a CRD takes effect shortly after it is stored. */
async function untilServed(cluster: CommandCluster, crd: KubeObject): Promise<void> {
  const { group, names } = crd['spec'] as unknown as { group: string; names: { kind: string } }
  const untilMs = monotonicMs() + crdTimeoutMs
  for (;;) {
    cluster.invalidate()
    const resources = await cluster.resources()
    if (resources.some((one) => one.group === group && one.kind === names.kind)) return
    if (monotonicMs() > untilMs) {
      throw new KopfError('KOPF_RESOURCE', `Cannot use the CRD of ${names.kind}: the cluster does not serve it`)
    }
    await systemClock.sleep(50)
  }
}

type KeyedObjects = ReadonlyMap<string, KubeObject>

/**
 * The objects of files when they were last applied: labels and objects that are removed from a file are deleted from the cluster. Kept in
 * memory only, so that objects of other clients are never deleted.
 */
export class AppliedObjects {
  readonly #byFile = new Map<string | undefined, KeyedObjects>()

  /** The last applied state of the object. */
  before(object: KubeObject): KubeObject | undefined {
    return this.#all().get(keyOf(object))
  }

  /** Replaces the objects of these files. Returns the objects that are in no file any more, the latest first. */
  replace(manifests: readonly ManifestFile[]): KubeObject[] {
    const before = manifests.flatMap(({ file }) => [...(this.#byFile.get(file) ?? [])])
    for (const { file, objects } of manifests) {
      this.#byFile.set(file, new Map(objects.flatMap(flatten).map((object) => [keyOf(object), object])))
    }
    const now = this.#all()
    return before
      .filter(([key]) => !now.has(key))
      .map(([, object]) => object)
      .reverse()
  }

  #all(): KeyedObjects {
    return new Map([...this.#byFile.values()].flatMap((objects) => [...objects]))
  }
}

/** The identity of an object. It does not include the API version, so that another version is the same object. */
function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  const group = parseGroupVersion(apiVersion)?.group ?? apiVersion
  return [group, kind, metadata?.namespace ?? '', metadata?.name ?? ''].join(' ')
}
