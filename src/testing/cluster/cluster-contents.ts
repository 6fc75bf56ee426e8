/**
 * Creates the objects of the options `resources`, `objects` and `manifests`, and of `cluster.apply`: CRDs first, then namespaces,
 * then the rest in the given order. On a real cluster it deletes them at the end, except those that existed before.
 */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { CustomResource, Resource, ResourceLike } from '../../kube/resources/resources.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { ClusterBackend } from './backend.ts'
import { installCrd, releaseObjects, removeConversions, resourcesOf, uninstall, untilServed } from './install-crds.ts'
import { type ManifestObject, toManifestError } from './manifests.ts'

/** The field manager of applied objects. */
const fieldManager = 'kopf-testing'

interface Created {
  readonly resource: Resource
  readonly object: KubeObject
}

export class ClusterContents {
  readonly #backend: ClusterBackend
  /** All CRDs of the test, by name, also those that existed before. */
  readonly #crds = new Map<string, KubeObject>()
  /** The CRDs that the test has created. */
  readonly #installed: KubeObject[] = []
  /**
   * Created objects outside the namespaces of the test, in the order of their creation. They are not deleted with the namespaces.
   */
  readonly #created: Created[] = []

  constructor(backend: ClusterBackend) {
    this.#backend = backend
  }

  /** The custom resources of the test. */
  get resources(): ResourceLike[] {
    return [...this.#crds.values()].flatMap(resourcesOf)
  }

  /**
   * Creates CRDs, waits until they are served, and creates the other objects. Existing CRDs are not changed: other tests of the
   * cluster may use them.
   */
  async install(resources: readonly CustomResource<object>[], manifests: readonly ManifestObject[]): Promise<void> {
    const given = new Set(manifests.filter(isCrd).map(({ object }) => object.metadata.name))
    const own = toCrds(resources).filter(({ metadata }) => !given.has(metadata.name))
    const crds = [...own.map((object) => ({ object, origin: 'of `resources`' })), ...manifests.filter(isCrd)]
    for (const crd of crds) {
      if (await explain(crd, () => installCrd(this.#backend, crd.object))) this.#installed.push(crd.object)
      this.#crds.set(crd.object.metadata.name!, crd.object)
    }
    for (const crd of crds) await explain(crd, () => untilServed(this.#backend, crd.object))
    await this.apply(manifests.filter((manifest) => !isCrd(manifest)))
  }

  /** Creates or updates objects. Returns the stored objects in the given order. */
  async apply(manifests: readonly ManifestObject[]): Promise<KubeObject[]> {
    const objects = new Map<ManifestObject, KubeObject>()
    for (const manifest of inOrder(manifests)) {
      objects.set(manifest, await explain(manifest, () => this.#put(this.#toOwnNamespace(manifest.object))))
      if (isCrd(manifest)) await explain(manifest, () => untilServed(this.#backend, manifest.object))
    }
    return manifests.map((manifest) => objects.get(manifest)!)
  }

  async cleanUp(): Promise<void> {
    await removeConversions(this.#backend, this.#installed)
    await releaseObjects(this.#backend, [...this.#crds.values()])
    for (const { resource, object } of this.#created.reverse()) {
      const { name, namespace } = object.metadata
      await this.#backend.client
        .delete(resource, name!, namespace === undefined ? {} : { namespace })
        .catch((error) => {
          if (!isNotFound(error)) throw error
        })
    }
    await uninstall(this.#backend, this.#installed)
  }

  async #put(object: KubeObject): Promise<KubeObject> {
    const { client, namespaces } = this.#backend
    const { apiVersion, kind, metadata } = object
    const own = apiVersion === 'v1' && kind === 'Namespace' ? namespaces.get(metadata.name ?? '') : undefined
    if (own !== undefined) return (await client.get('namespaces', own)) as KubeObject
    const created = await this.#create(object)
    if (created !== undefined) await this.#remember(created)
    return created ?? ((await client.apply(object, { fieldManager, force: true })) as KubeObject)
  }

  /** Returns undefined if the object exists already. */
  async #create(object: KubeObject): Promise<KubeObject | undefined> {
    if (isCrd({ object })) return (await installCrd(this.#backend, object)) ? object : undefined
    try {
      return (await this.#backend.client.create(object)) as KubeObject
    } catch (error) {
      if (isAlreadyExists(error)) return undefined
      throw error
    }
  }

  async #remember(created: KubeObject): Promise<void> {
    if (isCrd({ object: created })) {
      this.#installed.push(created)
      this.#crds.set(created.metadata.name!, created)
      return
    }
    const { namespace } = created.metadata
    if (namespace !== undefined && [...this.#backend.namespaces.values()].includes(namespace)) return
    const { group = '', version } = parseGroupVersion(created.apiVersion) ?? {}
    const resource = await this.#backend.resolve({
      group,
      kind: created.kind,
      ...(version === undefined ? {} : { version }),
    })
    this.#created.push({ resource, object: created })
  }

  /** Replaces names of the option `namespaces` by the actual names, which differ on a real cluster. */
  #toOwnNamespace(object: KubeObject): KubeObject {
    const { namespaces } = this.#backend
    const rename = <T extends { namespace?: string }>(holder: T): T => {
      const name = holder.namespace === undefined ? undefined : namespaces.get(holder.namespace)
      return name === undefined ? holder : { ...holder, namespace: name }
    }
    const { subjects } = object as { subjects?: { namespace?: string }[] }
    const renamed = { ...object, metadata: rename(object.metadata) }
    return Array.isArray(subjects) ? { ...renamed, subjects: subjects.map(rename) } : renamed
  }
}

function isCrd({ object }: Pick<ManifestObject, 'object'>): boolean {
  return object.kind === 'CustomResourceDefinition' && object.apiVersion.startsWith('apiextensions.k8s.io/')
}

function inOrder(manifests: readonly ManifestObject[]): ManifestObject[] {
  const rankOf = ({ object }: ManifestObject) =>
    isCrd({ object }) ? 0 : isDeepEqual([object.apiVersion, object.kind], ['v1', 'Namespace']) ? 1 : 2
  return [...manifests].sort((one, other) => rankOf(one) - rankOf(other))
}

async function explain<T>(manifest: ManifestObject, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toManifestError(manifest, error)
  }
}
