/**
 * The client that handlers are given: the verbs of the API, typed by the resource. Made for each handler by
 * `createClient`, in the namespace of the object at hand. Builds calls and reads answers; session.ts does the rest.
 */
import type { ObjectOf, Resource, ResourceLike } from '../kube/resources.ts'
import type { Session } from './calls.ts'
import { ApiClient } from './client-calls.ts'
import type {
  ApplyOptions,
  ClientEvent,
  DeepPartial,
  DeleteOptions,
  GetOptions,
  ObjectInput,
  PatchOptions,
  SelectionOptions,
  SelfDescribed,
  Stored,
  StoredOf,
  Undescribed,
  WatchOptions,
  WriteOptions,
} from './client-options.ts'

/** However a resource is named; the `resource` of a handler's arguments, too. */
export type ClientResource = ResourceLike | Resource

/**
 * The API of the cluster. The namespace, where one is needed, is that of the options, else that of the object given, else
 * that of the object being handled. Whatever the server refuses is thrown as an `ApiError`.
 */
export interface Client {
  /**
   * One object by its name; not found is an error (`isNotFound`).
   *
   * @example
   * ```ts
   * const config = await client.get('configmaps', 'settings')
   * const other = await client.get('configmaps', 'settings', { namespace: 'elsewhere' })
   * ```
   */
  get<R extends ClientResource>(resource: R, name: string, options?: GetOptions): Promise<StoredOf<R>>

  /**
   * All objects of one namespace, or of all of them: every page, in one array.
   *
   * @example
   * ```ts
   * const pods = await client.list('pods', { labelSelector: { app: 'web' } })
   * const everywhere = await client.list('pods', { namespace: null })
   * ```
   */
  list<R extends ClientResource>(resource: R, options?: SelectionOptions): Promise<StoredOf<R>[]>

  /**
   * A new object, as the server has stored it. The resource can be left out where the object has `apiVersion` and `kind`.
   *
   * @example
   * ```ts
   * await client.create('configmaps', { metadata: { name: 'settings' }, data: { color: 'blue' } })
   * await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'settings-' } })
   * ```
   */
  create<T extends SelfDescribed>(object: T & Undescribed<T>, options?: WriteOptions): Promise<Stored<T>>
  /** The same for an object of the resource that is named. */
  create<R extends ClientResource>(
    resource: R,
    object: ObjectInput<ObjectOf<R>>,
    options?: WriteOptions,
  ): Promise<StoredOf<R>>

  /**
   * Changes some fields of an object: by a merge patch, or by JSON patch operations where an array is given.
   *
   * @example
   * ```ts
   * await client.patch('configmaps', 'settings', { data: { color: 'red' } })
   * await client.patch('configmaps', 'settings', [{ op: 'remove', path: '/data/color' }])
   * await client.patch('deployments', 'web', { status: { replicas: 1 } }, { subresource: 'status' })
   * ```
   */
  patch<R extends ClientResource>(
    resource: R,
    name: string,
    patch: object,
    options?: PatchOptions,
  ): Promise<StoredOf<R>>

  /**
   * Server-side apply: the object is made, or made to have the fields given; fields that we gave before and do not give
   * now are removed. Others' fields stay, and are a conflict where they differ, unless `force` is set.
   *
   * An object that exists under that name is changed, also if another client created it. Where the author of the handled object chooses the name, use
   * `create` for the first write, and give `metadata.uid` in later ones: the server then refuses to change any other object.
   *
   * @example
   * ```ts
   * await client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { color: 'blue' } })
   * await client.apply('configmaps', { metadata: { name: 'settings' } }, { fieldManager: 'painter', force: true })
   * ```
   */
  apply<T extends SelfDescribed>(object: T & Undescribed<T>, options?: ApplyOptions): Promise<Stored<T>>
  /** The same for an object of the resource that is named. */
  apply<R extends ClientResource>(
    resource: R,
    object: DeepPartial<ObjectOf<R>>,
    options?: ApplyOptions,
  ): Promise<StoredOf<R>>

  /**
   * Puts the object in the place of the one of its name; a conflict where it has a `resourceVersion` that is not current.
   *
   * @example
   * ```ts
   * const config = await client.get('configmaps', 'settings')
   * await client.replace('configmaps', { ...config, data: {} })
   * ```
   */
  replace<T extends SelfDescribed>(object: T & Undescribed<T>, options?: WriteOptions): Promise<Stored<T>>
  /** The same for an object of the resource that is named. */
  replace<R extends ClientResource>(
    resource: R,
    object: ObjectInput<ObjectOf<R>>,
    options?: WriteOptions,
  ): Promise<StoredOf<R>>

  /**
   * Undefined where the object is gone at once; the object where it waits for finalizers or its grace period.
   *
   * @example
   * ```ts
   * await client.delete('configmaps', 'settings')
   * await client.delete('jobs', 'backup', { propagationPolicy: 'Background' })
   * ```
   */
  delete<R extends ClientResource>(resource: R, name: string, options?: DeleteOptions): Promise<StoredOf<R> | undefined>

  /**
   * Changes as they come, until the server ends the watch or the iteration is left. An error in it is thrown; a version
   * that is too old to go on from is `isGone`.
   *
   * @example
   * ```ts
   * for await (const { type, object } of client.watch('pods', { labelSelector: { app: 'web' } })) {
   *   if (type === 'DELETED') break
   * }
   * ```
   */
  watch<R extends ClientResource>(resource: R, options?: WatchOptions): AsyncIterable<ClientEvent<ObjectOf<R>>>
}

export interface CreateClientOptions {
  readonly session: Session
  /** Finds the one resource that is meant; rejects where there is none, or more than one. */
  readonly resolve: (resource: ResourceLike) => Promise<Resource>
  /** For namespaced resources where nobody names one. */
  readonly namespace?: string | undefined
  /** For calls without a signal of their own. */
  readonly signal?: AbortSignal | undefined
  /** Of what is applied; `kopf` by default. */
  readonly fieldManager?: string | undefined
}

export function createClient(options: CreateClientOptions): Client {
  return new ApiClient(options) as unknown as Client
}
