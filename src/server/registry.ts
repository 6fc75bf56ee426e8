/** The resources that are served: the built-in ones, and those of established CRDs. */
import { formatGroupVersion } from '../kube/objects.ts'
import type { ApiResource } from './resource.ts'
import { apiVersionOf, type Stored } from './storage/stored.ts'

export class ResourceRegistry {
  readonly #builtins: readonly ApiResource[]

  /** By CRD name. */
  readonly #custom = new Map<string, readonly ApiResource[]>()

  /** The versions of a CRD with a conversion webhook, by CRD name, which is also the collection. Empty without such a webhook. */
  readonly #storedVersions = new Map<string, readonly ApiResource[]>()

  /** By group, version and plural. Replaced as a whole with every change, so that readers never see a partial index. */
  #byPath = new Map<string, ApiResource>()

  #all: readonly ApiResource[] = []

  constructor(builtins: readonly ApiResource[]) {
    this.#builtins = builtins
    this.#index()
  }

  /** The same array until something changes, so that results computed from it can be cached by identity. */
  get all(): readonly ApiResource[] {
    return this.#all
  }

  find(group: string, version: string, plural: string): ApiResource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`)
  }

  isBuiltinGroup(group: string): boolean {
    return this.#builtins.some((resource) => resource.group === group)
  }

  /** The resource of the storage version, which needs no conversion. */
  storageOf(collection: string): ApiResource | undefined {
    const candidates = this.#all.filter((resource) => resource.collection === collection)
    return candidates.find((resource) => resource.conversion === undefined) ?? candidates[0]
  }

  /**
   * The resource for writes without a conversion webhook: the version that the object is stored in. If the CRD no longer has that
   * version, any version is returned, so that controllers can still delete the object with its namespace.
   */
  resourceForStoredVersion(stored: Stored): ApiResource | undefined {
    const storedVersions = this.#storedVersions.get(stored.collection) ?? []
    if (storedVersions.length === 0) return this.storageOf(stored.collection)
    const apiVersion = apiVersionOf(stored)
    return (
      storedVersions.find(({ group, version }) => formatGroupVersion(group, version) === apiVersion) ??
      storedVersions[0]
    )
  }

  /** The resource of a kind in any version: owner references do not name a resource. */
  findByKind(group: string, kind: string): ApiResource | undefined {
    return this.#all.find((resource) => resource.group === group && resource.kind === kind)
  }

  set(crd: string, resources: readonly ApiResource[], storedVersions: readonly ApiResource[] = []): void {
    this.#custom.set(crd, resources)
    this.#storedVersions.set(crd, storedVersions)
    this.#index()
  }

  delete(crd: string): void {
    this.#custom.delete(crd)
    this.#storedVersions.delete(crd)
    this.#index()
  }

  #index(): void {
    this.#all = [...this.#builtins, ...[...this.#custom.values()].flat()]
    this.#byPath = new Map(
      this.#all.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
    )
  }
}
