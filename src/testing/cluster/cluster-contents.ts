/**
 * What a test puts into its cluster as a whole: CRDs first, then namespaces, then the rest in its order. On a real cluster all of it that
 * was not there before is taken back at the end.
 */
import { isAlreadyExists, isNotFound } from '../../client/api-error.ts'
import { toCrds } from '../../kube/crds/crd.ts'
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { CustomResource, Resource, ResourceLike } from '../../kube/resources/resources.ts'
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type { ClusterBackend } from './backend.ts'
import { installCrd, releaseObjects, removeConversions, resourcesOf, uninstall, untilServed } from './install-crds.ts'
import { type ManifestObject, toManifestError } from './manifests.ts'

/** Who owns the fields of objects that are applied. */
const fieldManager = 'kopf-testing'

interface Created {
  readonly resource: Resource
  readonly object: KubeObject
}

export class ClusterContents {
  readonly #site: ClusterBackend
  /** All CRDs of the test, by name, installed by the kit or by the test itself. */
  readonly #crds = new Map<string, KubeObject>()
  readonly #installed: KubeObject[] = []
  /** Objects that do not go with the namespaces of the test, in the order of their creation. */
  readonly #created: Created[] = []

  constructor(backend: ClusterBackend) {
    this.#site = backend
  }

  /** The custom resources of the test. */
  get resources(): ResourceLike[] {
    return [...this.#crds.values()].flatMap(resourcesOf)
  }

  /** CRDs that are there already stay as they are: other tests of the cluster may use them. */
  async install(resources: readonly CustomResource<object>[], manifests: readonly ManifestObject[]): Promise<void> {
    const given = new Set(manifests.filter(isCrd).map(({ object }) => object.metadata.name))
    const own = toCrds(resources).filter(({ metadata }) => !given.has(metadata.name))
    const crds = [...own.map((object) => ({ object, origin: 'of `resources`' })), ...manifests.filter(isCrd)]
    for (const crd of crds) {
      if (await explain(crd, () => installCrd(this.#site, crd.object))) this.#installed.push(crd.object)
      this.#crds.set(crd.object.metadata.name!, crd.object)
    }
    for (const crd of crds) await explain(crd, () => untilServed(this.#site, crd.object))
    await this.apply(manifests.filter((manifest) => !isCrd(manifest)))
  }

  /** The objects as the cluster has them then, in the order given. */
  async apply(manifests: readonly ManifestObject[]): Promise<KubeObject[]> {
    const objects = new Map<ManifestObject, KubeObject>()
    for (const manifest of inOrder(manifests)) {
      objects.set(manifest, await explain(manifest, () => this.#put(this.#toOwnNamespace(manifest.object))))
      if (isCrd(manifest)) await explain(manifest, () => untilServed(this.#site, manifest.object))
    }
    return manifests.map((manifest) => objects.get(manifest)!)
  }

  async takeBack(): Promise<void> {
    await removeConversions(this.#site, this.#installed)
    await releaseObjects(this.#site, [...this.#crds.values()])
    for (const { resource, object } of this.#created.reverse()) {
      const { name, namespace } = object.metadata
      await this.#site.client.delete(resource, name!, namespace === undefined ? {} : { namespace }).catch((error) => {
        if (!isNotFound(error)) throw error
      })
    }
    await uninstall(this.#site, this.#installed)
  }

  async #put(object: KubeObject): Promise<KubeObject> {
    const { client, namespaces } = this.#site
    const { apiVersion, kind, metadata } = object
    const own = apiVersion === 'v1' && kind === 'Namespace' ? namespaces.get(metadata.name ?? '') : undefined
    if (own !== undefined) return (await client.get('namespaces', own)) as KubeObject
    const created = await this.#create(object)
    if (created !== undefined) await this.#remember(created)
    return created ?? ((await client.apply(object, { fieldManager, force: true })) as KubeObject)
  }

  /** Undefined where there is one already. */
  async #create(object: KubeObject): Promise<KubeObject | undefined> {
    if (isCrd({ object })) return (await installCrd(this.#site, object)) ? object : undefined
    try {
      return (await this.#site.client.create(object)) as KubeObject
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
    if (namespace !== undefined && [...this.#site.namespaces.values()].includes(namespace)) return
    const { group = '', version } = parseGroupVersion(created.apiVersion) ?? {}
    const resource = await this.#site.resolve({
      group,
      kind: created.kind,
      ...(version === undefined ? {} : { version }),
    })
    this.#created.push({ resource, object: created })
  }

  /** The namespaces of the option `namespaces` have other names on a real cluster. */
  #toOwnNamespace(object: KubeObject): KubeObject {
    const { namespaces } = this.#site
    const rename = <T extends { namespace?: string }>(place: T): T => {
      const name = place.namespace === undefined ? undefined : namespaces.get(place.namespace)
      return name === undefined ? place : { ...place, namespace: name }
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
