/** The types of registering handlers: the signatures of `operator.on.…`, `daemon`, `timer`, `reconcile` and `index`. Types only. */

import type { LoginAnswer } from './client/auth/connection-info.ts'
import type {
  ActivityArgs,
  ActivityOptions,
  ArgsFor,
  ConvertArgs,
  Converted,
  ConvertOptions,
  FieldArgs,
  FieldOptions,
  ObjectHandlerType,
  OptionsOf,
  ReconcileArgs,
  Reconciled,
  ReconcileOptions,
} from './handlers/args/args.ts'
import type { ChildOf } from './handlers/args/child-types.ts'
import type { CheckedPath } from './handlers/args/field-types.ts'
import type { Index } from './handlers/index-table.ts'
import type { FieldPath } from './handlers/options.ts'
import type { NamespaceOf, ObjectOf, ResourceDefinition, ResourceLike } from './kube/resources/resources.ts'

/**
 * A handler function. It gets one object with all arguments, to destructure. It may be asynchronous. The result of a change handler is
 * stored in `status.<id>` of the object.
 */
type HandlerFn<A> = (args: A) => unknown

/** Registers a handler of one type for a resource. The options, between the resource and the function, can be omitted. */
export interface Register<K extends ObjectHandlerType, M> {
  <const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<K, R, M>>): void
  <const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsOf<ArgsFor<K, R, M>, ObjectOf<R>, P>[K],
    handler: HandlerFn<ArgsFor<K, R, M>>,
  ): void
}

/** Registers a handler for one field of a resource. The types of its `old` and `new` follow from the path. */
export interface RegisterField<M> {
  <const R extends ResourceLike, const P extends FieldPath>(
    resource: R,
    field: CheckedPath<ObjectOf<R>, P>,
    handler: HandlerFn<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>>,
  ): void
  <const R extends ResourceLike, const P extends FieldPath>(
    resource: R,
    field: CheckedPath<ObjectOf<R>, P>,
    options: FieldOptions<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>, ObjectOf<R>, P>,
    handler: HandlerFn<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>>,
  ): void
}

/** Registers a handler of a type whose options are required, such as the `interval` of a timer. */
export type RegisterWithOptions<K extends ObjectHandlerType, M> = <
  const R extends ResourceLike,
  const P extends FieldPath = FieldPath,
>(
  resource: R,
  options: OptionsOf<ArgsFor<K, R, M>, ObjectOf<R>, P>[K],
  handler: HandlerFn<ArgsFor<K, R, M>>,
) => void

// biome-ignore lint/suspicious/noConfusingVoidType: a reconciler may have no return statement.
type ReconcileFn<A, C> = (args: A) => Reconciled<C> | void | PromiseLike<Reconciled<C> | void>

/**
 * The reconciler for owned resources `O`. A conditional type, since the compiler inserts the inferred `O` only into such types before it reads
 * the function: otherwise `kind: 'Deployment'` in a returned child would have the type `string`.
 */
type OwningReconcileFn<R extends ResourceLike, M, O extends readonly ResourceLike[]> = O extends unknown
  ? ReconcileFn<ReconcileArgs<ObjectOf<R>, M, O[number], NamespaceOf<R>>, ChildOf<O[number]>>
  : never

/** Registers a reconciler for a resource. The types of its existing and of its desired children follow from the option `owns`. */
export interface RegisterReconcile<M> {
  <const R extends ResourceLike>(
    resource: R,
    handler: ReconcileFn<ReconcileArgs<ObjectOf<R>, M, never, NamespaceOf<R>>, ChildOf<never>>,
  ): void
  <
    const R extends ResourceLike,
    const O extends readonly ResourceLike[] = readonly [],
    const W extends readonly ResourceLike[] = readonly [],
    const P extends FieldPath = FieldPath,
  >(
    resource: R,
    options: ReconcileOptions<ArgsFor<'reconcile', R, M>, O, W, ObjectOf<R>, P>,
    handler: OwningReconcileFn<R, M, O>,
  ): void
}

/** The result of an indexing function with keys. Undefined and null leave the index unchanged. */
type Pairs<K, V> = Iterable<readonly [K, V]> | null | undefined

type IndexFn<R extends ResourceLike, M, Result> = (args: ArgsFor<'index', R, M>) => Result | PromiseLike<Result>

type IndexOptions<R extends ResourceLike, M, P> = OptionsOf<ArgsFor<'index', R, M>, ObjectOf<R>, P>['index']

/** Makes the compiler infer `[namespace, name]` as a tuple, and a string literal as `string`. */
type Anything = NonNullable<unknown> | [] | null | undefined

/** The entries of a plain object are keys and values. A Kubernetes object, or any other value, is one value under the key null. */
type IndexOf<Result> = Index<KeyIn<Result>, ValueIn<Result>>
type KeyIn<Result> = Result extends unknown
  ? IsPlain<Result> extends true
    ? Extract<keyof Result, string>
    : null
  : never
type ValueIn<Result> =
  Result extends Iterator<infer Item> ? readonly Item[] : IsPlain<Result> extends true ? Result[keyof Result] : Result

type IsPlain<T> = T extends Iterable<unknown> | Date | ((...args: never[]) => unknown)
  ? false
  : T extends object
    ? IsKubeObject<T> extends true
      ? false
      : true
    : false

/** Whether the type has `apiVersion`, `kind` and `metadata`, even as optional fields. False for types with an index signature. */
type IsKubeObject<T> = T extends { readonly apiVersion: unknown; readonly kind: unknown; readonly metadata: unknown }
  ? true
  : string extends keyof T
    ? false
    : 'apiVersion' | 'kind' | 'metadata' extends keyof T
      ? true
      : false

/**
 * Registers an indexing function and returns the index. A returned `Map`, an iterable of pairs, or a plain object is stored as keys and
 * values. Any other result is one value under the key null. An empty result removes the object from the index. `undefined` and `null` leave
 * the entries of the object unchanged.
 */
export interface RegisterIndex<M> {
  <const R extends ResourceLike, K extends Anything, V extends Anything>(
    resource: R,
    fn: IndexFn<R, M, Pairs<K, V>>,
  ): Index<K, V>
  <const R extends ResourceLike, K extends Anything, V extends Anything, const P extends FieldPath = FieldPath>(
    resource: R,
    options: IndexOptions<R, M, P>,
    fn: IndexFn<R, M, Pairs<K, V>>,
  ): Index<K, V>
  <const R extends ResourceLike, Result extends Anything>(
    resource: R,
    fn: IndexFn<R, M, Result>,
  ): IndexOf<NonNullable<Result>>
  <const R extends ResourceLike, Result extends Anything, const P extends FieldPath = FieldPath>(
    resource: R,
    options: IndexOptions<R, M, P>,
    fn: IndexFn<R, M, Result>,
  ): IndexOf<NonNullable<Result>>
}

/** A version of a custom resource: its name, or the definition of the resource in that version. */
type VersionLike = string | ResourceDefinition<never> | ResourceDefinition<object>

/** Registers a conversion from one version of a custom resource to another. */
export type RegisterConvert<M> = <
  const R extends ResourceLike,
  const From extends VersionLike,
  const To extends VersionLike,
>(
  resource: R,
  options: ConvertOptions<From, To>,
  handler: (args: ConvertArgs<ObjectOf<From>, M>) => Converted<ObjectOf<To>> | PromiseLike<Converted<ObjectOf<To>>>,
) => void

/** Registers an activity handler: one of the operator itself rather than of an object. The options can be omitted. */
export interface RegisterActivity<M, Result = unknown> {
  (handler: (args: ActivityArgs<M>) => Result | PromiseLike<Result>): void
  (options: ActivityOptions, handler: (args: ActivityArgs<M>) => Result | PromiseLike<Result>): void
}

/**
 * Registers handlers of objects, of requests to the API server, and of the operator itself.
 *
 * @example
 * ```ts
 * kopf.on.create('kopfexamples', { retries: 3 }, async ({ spec, patch, logger }) => {
 *   logger.info(`Creating ${spec.size} items`)
 *   patch.status.phase = 'Ready'
 * })
 * ```
 */
export interface On<M> {
  /**
   * Called when the operator starts, before any request to the cluster. The place to change settings. If the handler fails permanently,
   * the operator does not start.
   *
   * @example
   * ```ts
   * kopf.on.startup(({ settings }) => {
   *   settings.queueing.workerLimit = 10
   * })
   * ```
   */
  readonly startup: RegisterActivity<M>
  /**
   * Called when the operator stops, after all other handlers have ended. For example, to close connections.
   *
   * @example
   * ```ts
   * kopf.on.cleanup(() => pool.end())
   * ```
   */
  readonly cleanup: RegisterActivity<M>
  /**
   * Called when the operator needs credentials: at the start, and when the old ones expire or are rejected. Returns a `ConnectionInfo`,
   * or nothing. Without a login handler, the operator uses the service account of the pod, or else the kubeconfig.
   *
   * @example
   * ```ts
   * kopf.on.login(() => loginWithKubeconfig({ context: 'staging' }))
   * ```
   */
  readonly login: RegisterActivity<M, LoginAnswer>
  /**
   * Called when the liveness endpoint is requested, at most every 10 seconds while the probes succeed. The result appears in the response
   * under the id of the handler. An error makes the response a failure (500).
   *
   * @example
   * ```ts
   * kopf.on.probe({ id: 'database' }, () => pool.query('select 1').then(() => 'reachable'))
   * ```
   */
  readonly probe: RegisterActivity<M>
  /**
   * Called once for each new object, including objects that were created while the operator was not running.
   *
   * @example
   * ```ts
   * kopf.on.create('kopfexamples', async ({ name, spec, client }) => {
   *   await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { size: String(spec.size) } })
   * })
   * ```
   */
  readonly create: Register<'create', M>
  /**
   * Called once for each existing object after the operator starts, for example to connect to an external system again. Not called for
   * objects that are created later.
   *
   * @example
   * ```ts
   * kopf.on.resume('kopfexamples', ({ name, memo }) => {
   *   memo.connection = connect(name)
   * })
   * ```
   */
  readonly resume: Register<'resume', M>
  /**
   * Called when an object changes: its spec, labels, annotations, or any other field that users write. Not called for changes of `status`,
   * of system fields in `metadata`, or of the operator's own annotations.
   *
   * @example
   * ```ts
   * kopf.on.update('kopfexamples', { field: 'spec.size' }, ({ old, new: size, logger }) => {
   *   logger.info(`Resizing from ${old} to ${size}`)
   * })
   * ```
   */
  readonly update: Register<'update', M>
  /**
   * Called when the object is deleted. A finalizer holds the object until the handler has succeeded or failed permanently, unless the
   * handler is `optional`.
   *
   * @example
   * ```ts
   * kopf.on.delete('kopfexamples', async ({ name }) => {
   *   await cloud.dropDatabase(name)
   * })
   * ```
   */
  readonly delete: Register<'delete', M>
  /**
   * Called when one field is added, changed or removed, also on creation. Fields in `status` are possible, too.
   *
   * @example
   * ```ts
   * kopf.on.field('kopfexamples', 'spec.size', ({ old, new: size, logger }) => logger.info(`Size: ${old} -> ${size}`))
   * ```
   */
  readonly field: RegisterField<M>
  /**
   * Called for every watch event of an object, and for every listed object when the operator starts. Nothing is stored on the object.
   * Errors are logged and not retried.
   *
   * @example
   * ```ts
   * kopf.on.event('pods', { labels: { app: 'web' } }, ({ event, name, logger }) => logger.info(`${event.type}: ${name}`))
   * ```
   */
  readonly event: Register<'event', M>
  /**
   * A validating admission webhook: called before a request to create, update or delete an object is executed. Throw an `AdmissionError` to
   * reject the request. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.validate('kopfexamples', ({ spec }) => {
   *   if (spec.size > 100) throw new AdmissionError('The size must be at most 100', { status: 422 })
   * })
   * ```
   */
  readonly validate: Register<'validate', M>
  /**
   * A mutating admission webhook: called before the validating ones. Changes in `patch` are applied to the object before it is validated
   * and stored. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.mutate('kopfexamples', ({ spec, patch }) => {
   *   if (spec.size === undefined) patch.spec.size = 1
   * })
   * ```
   */
  readonly mutate: Register<'mutate', M>
  /**
   * A conversion webhook: called when the API server needs an object in another version than the stored one. Returns the fields that differ
   * in the other version. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.convert(Database, { from: 'v1', to: 'v2' }, ({ spec }) => ({ spec: { storage: { size: spec.size } } }))
   * ```
   */
  readonly convert: RegisterConvert<M>
}
