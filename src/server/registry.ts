/** Which resources are served at this moment: the built-in ones, always, and those of the CRDs that are established. */
import { formatGroupVersion } from '../kube/objects.ts'
import type { ServedResource } from './resource.ts'
import { apiVersionOf, type Stored } from './storage/stored.ts'

export class Registry {
  readonly #builtins: readonly ServedResource[]

  /** By the name of the CRD. */
  readonly #custom = new Map<string, readonly ServedResource[]>()

  /** By the name of the CRD, which is that of the collection; empty where no webhook converts. */
  readonly #keepers = new Map<string, readonly ServedResource[]>()

  /** By group, version and plural. Made anew with every change, so that a reader never sees half of one. */
  #byPath = new Map<string, ServedResource>()

  #all: readonly ServedResource[] = []

  constructor(builtins: readonly ServedResource[]) {
    this.#builtins = builtins
    this.#index()
  }

  /** The same array until something changes: what is worked out from it can be kept by its identity. */
  get all(): readonly ServedResource[] {
    return this.#all
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`)
  }

  isBuiltinGroup(group: string): boolean {
    return this.#builtins.some((resource) => resource.group === group)
  }

  /** The resource in whose form the collection keeps its objects: the one that needs no conversion. */
  storageOf(collection: string): ServedResource | undefined {
    const candidates = this.#all.filter((resource) => resource.collection === collection)
    return candidates.find((resource) => resource.conversion === undefined) ?? candidates[0]
  }

  /**
   * By whose rules a state is changed without waiting for anybody: those of the version that it is in. Where the CRD has that
   * version no more, clients cannot read it, but it must not hold up its namespace: any version will do to delete it.
   */
  keeperOf(stored: Stored): ServedResource | undefined {
    const keepers = this.#keepers.get(stored.collection) ?? []
    if (keepers.length === 0) return this.storageOf(stored.collection)
    const apiVersion = apiVersionOf(stored)
    return keepers.find(({ group, version }) => formatGroupVersion(group, version) === apiVersion) ?? keepers[0]
  }

  /** Where objects of this kind are, whatever its version: owner references name no resource. */
  findByKind(group: string, kind: string): ServedResource | undefined {
    return this.#all.find((resource) => resource.group === group && resource.kind === kind)
  }

  set(crd: string, resources: readonly ServedResource[], keepers: readonly ServedResource[] = []): void {
    this.#custom.set(crd, resources)
    this.#keepers.set(crd, keepers)
    this.#index()
  }

  delete(crd: string): void {
    this.#custom.delete(crd)
    this.#keepers.delete(crd)
    this.#index()
  }

  #index(): void {
    this.#all = [...this.#builtins, ...[...this.#custom.values()].flat()]
    this.#byPath = new Map(
      this.#all.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
    )
  }
}
