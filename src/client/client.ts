/**
 * The `client` argument of handlers: the verbs of the Kubernetes API, typed by the resource. `createClient` makes one per handler call,
 * with the namespace of the handled object as its default. client-impl.ts builds the requests, session.ts sends and retries them.
 */
import type { ObjectOf, Resource, ResourceLike } from '../kube/resources/resources.ts'
import { ApiClient } from './client-impl.ts'
import type {
  ApplyOptions,
  ClientEvent,
  ClientPatchType,
  DeepPartial,
  DeleteOptions,
  GetOptions,
  ObjectInput,
  PatchInput,
  PatchOptions,
  RequestObject,
  SelectionOptions,
  SelfDescribed,
  StoredObject,
  StoredOf,
  Undescribed,
  WatchOptions,
  WriteOptions,
} from './client-options.ts'
import type { Session } from './session.ts'

/** Any notation of a resource, or a discovered resource such as the `resource` argument of a handler. */
export type ClientResource = ResourceLike | Resource

/**
 * A client of the cluster's API, as handlers get it (`client`).
 *
 * The namespace of a request is `options.namespace`, otherwise the namespace of the given object, otherwise that of the handled
 * object. Requests use the credentials of the operator. Connection failures and responses such as 429 and 503 are retried with the
 * delays of `settings.networking.errorBackoffs`; after that, an error response is thrown as an `ApiError`, a connection failure as a
 * `ConnectionError`. Requests are aborted when the operator ends, or by `options.signal`.
 *
 * @example
 * ```ts
 * kopf.on.create(Database, async ({ name, body, client }) => {
 *   await client.create(adopt({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }, body))
 * })
 * ```
 */
export interface Client {
  /**
   * Reads one object by its name. Throws an `ApiError` if it does not exist (`isNotFound`).
   *
   * @example
   * ```ts
   * const config = await client.get('configmaps', 'settings')
   * const other = await client.get('configmaps', 'settings', { namespace: 'elsewhere' })
   * ```
   */
  get<const R extends ClientResource, const S extends string | undefined = undefined>(
    resource: R,
    name: string,
    options?: GetOptions<S>,
  ): Promise<StoredOf<R, S>>

  /**
   * Lists the objects of one namespace, or with `namespace: null` of all namespaces. Reads all pages into one array.
   *
   * @example
   * ```ts
   * const pods = await client.list('pods', { labelSelector: { app: 'web' } })
   * const everywhere = await client.list('pods', { namespace: null })
   * ```
   */
  list<const R extends ClientResource>(resource: R, options?: SelectionOptions): Promise<StoredOf<R>[]>

  /**
   * Creates an object and returns it as stored. The resource may be omitted if the object has `apiVersion` and `kind`. Throws an
   * `ApiError` if the object exists (`isAlreadyExists`).
   *
   * @example
   * ```ts
   * await client.create('configmaps', { metadata: { name: 'settings' }, data: { color: 'blue' } })
   * await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'settings-' } })
   * ```
   */
  create<T extends SelfDescribed>(object: T & Undescribed<T>, options?: WriteOptions): Promise<StoredObject<T>>
  /** Creates an object of the named resource; its `apiVersion` and `kind` may be omitted. */
  create<const R extends ClientResource, const S extends string | undefined = undefined>(
    resource: R,
    object: ObjectInput<RequestObject<R, S>>,
    options?: WriteOptions<S>,
  ): Promise<StoredOf<R, S>>

  /**
   * Patches an object and returns it as stored. A JSON object is sent as a merge patch, an array as JSON patch operations; see
   * `options.type`. The fields of a merge patch are checked against the type of the resource; null removes a field.
   *
   * @example
   * ```ts
   * await client.patch('configmaps', 'settings', { data: { color: 'red' } })
   * await client.patch('configmaps', 'settings', [{ op: 'remove', path: '/data/color' }])
   * await client.patch('deployments', 'web', { status: { replicas: 1 } }, { subresource: 'status' })
   * ```
   */
  patch<
    const R extends ClientResource,
    const S extends string | undefined = undefined,
    const Y extends ClientPatchType | undefined = undefined,
  >(
    resource: R,
    name: string,
    patch: PatchInput<RequestObject<R, S>, Y>,
    options?: PatchOptions<S, Y>,
  ): Promise<StoredOf<R, S>>

  /**
   * Server-side apply: creates the object or sets the given fields. Fields that the same `fieldManager` applied before and omits now are
   * removed. A field of another manager with a different value is a conflict (`isConflict`), unless `force` is set.
   *
   * An existing object of that name is changed even if another client created it. If users of the operator choose the name, use
   * `create` for the first write, and give `metadata.uid` in later ones: the server then refuses to change any other object.
   *
   * @example
   * ```ts
   * await client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { color: 'blue' } })
   * await client.apply('configmaps', { metadata: { name: 'settings' } }, { fieldManager: 'painter', force: true })
   * ```
   */
  apply<T extends SelfDescribed>(object: T & Undescribed<T>, options?: ApplyOptions): Promise<StoredObject<T>>
  /** Applies an object of the named resource; its `apiVersion` and `kind` may be omitted. */
  apply<const R extends ClientResource, const S extends string | undefined = undefined>(
    resource: R,
    object: DeepPartial<RequestObject<R, S>>,
    options?: ApplyOptions<S>,
  ): Promise<StoredOf<R, S>>

  /**
   * Replaces the whole object of that name (PUT). If the object has a `resourceVersion` that is not the current one, the request fails
   * with a conflict (`isConflict`).
   *
   * @example
   * ```ts
   * const config = await client.get('configmaps', 'settings')
   * await client.replace('configmaps', { ...config, data: {} })
   * ```
   */
  replace<T extends SelfDescribed>(object: T & Undescribed<T>, options?: WriteOptions): Promise<StoredObject<T>>
  /** Replaces an object of the named resource; its `apiVersion` and `kind` may be omitted. */
  replace<const R extends ClientResource, const S extends string | undefined = undefined>(
    resource: R,
    object: ObjectInput<RequestObject<R, S>>,
    options?: WriteOptions<S>,
  ): Promise<StoredOf<R, S>>

  /**
   * Deletes an object. Returns undefined if it is deleted already, or the object if it waits for finalizers or its grace period.
   * Throws an `ApiError` if it does not exist (`isNotFound`).
   *
   * @example
   * ```ts
   * await client.delete('configmaps', 'settings')
   * await client.delete('jobs', 'backup', { propagationPolicy: 'Background' })
   * ```
   */
  delete<const R extends ClientResource>(
    resource: R,
    name: string,
    options?: DeleteOptions,
  ): Promise<StoredOf<R> | undefined>

  /**
   * Watches objects until the server ends the watch or the loop is left. Does not reconnect. Errors of the server are thrown; if
   * `resourceVersion` is too old, `isGone` is true for the error.
   *
   * @example
   * ```ts
   * for await (const { type, object } of client.watch('pods', { labelSelector: { app: 'web' } })) {
   *   if (type === 'DELETED') break
   * }
   * ```
   */
  watch<const R extends ClientResource>(resource: R, options?: WatchOptions): AsyncIterable<ClientEvent<ObjectOf<R>>>
}

export interface CreateClientOptions {
  readonly session: Session
  /** Finds the resource for a notation. Rejects if the cluster serves none that matches, or several. */
  readonly resolve: (resource: ResourceLike) => Promise<Resource>
  /** The default namespace for namespaced resources. */
  readonly namespace?: string | undefined
  /** Ends requests that have no signal of their own. */
  readonly signal?: AbortSignal | undefined
  /** The default field manager of `apply`. Default: `kopf`. */
  readonly fieldManager?: string | undefined
}

export function createClient(options: CreateClientOptions): Client {
  return new ApiClient(options) as unknown as Client
}
