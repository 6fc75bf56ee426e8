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
import type { Index } from './handlers/index-table.ts'
import type { FieldPath, IdleOptions, IntervalOptions } from './handlers/options.ts'
import type { CheckedPath } from './kube/resources/path-types.ts'
import type { NamespaceOf, ObjectOf, ResourceDefinition, ResourceLike } from './kube/resources/resources.ts'

/**
 * A handler function. It gets one object with all arguments, to destructure. It may be asynchronous. The result of a change handler is
 * stored in `status.<id>` of the object.
 */
type HandlerFn<A> = (args: A) => unknown

type OptionsFor<K extends ObjectHandlerType, R extends ResourceLike, M, P> = OptionsOf<
  ArgsFor<K, R, M>,
  ObjectOf<R>,
  P
>[K]

/** Registers daemons. */
export interface RegisterDaemon<M> {
  /**
   * Registers a daemon: a long-running function that is started for each object and stopped when the object is deleted. It should end when
   * `stopped` is set.
   *
   * @example
   * ```ts
   * kopf.daemon('kopfexamples', async ({ stopped, logger }) => {
   *   while (!(await stopped.wait('10s'))) logger.info('Still here')
   * })
   * ```
   */
  <const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'daemon', R, M>>): void
  /**
   * Registers a daemon with options: a long-running function that is started for each object that the filters match, and stopped when the
   * object is deleted or does not match any more.
   *
   * @example
   * ```ts
   * kopf.daemon('kopfexamples', { labels: { monitored: PRESENT }, cancellationTimeout: '10s' }, async ({ stopped }) => {
   *   await stopped.wait()
   * })
   * ```
   */
  <const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'daemon', R, M, P>,
    handler: HandlerFn<ArgsFor<'daemon', R, M>>,
  ): void
}

/** Registers timers. Their options are required: `interval`, `idle` or both. */
export interface RegisterTimer<M> {
  /**
   * Registers a timer: a function that is called repeatedly for each object, every `interval`. With `idle`, only while the object has not
   * changed for that time. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.timer('kopfexamples', { interval: '1m' }, ({ name, logger }) => logger.info(`Checking ${name}`))
   * ```
   */
  <const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'timer', R, M, P> & IntervalOptions,
    handler: HandlerFn<ArgsFor<'timer', R, M>>,
  ): void
  /**
   * Registers a timer: a function that is called for each object once it has not changed for the time `idle`, and again after the next
   * change. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.timer('kopfexamples', { idle: '10m' }, ({ name, logger }) => logger.info(`${name} has not changed for 10 minutes`))
   * ```
   */
  <const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'timer', R, M, P> & IdleOptions,
    handler: HandlerFn<ArgsFor<'timer', R, M>>,
  ): void
}

// biome-ignore lint/suspicious/noConfusingVoidType: a reconciler may have no return statement.
type ReconcileFn<A> = (args: A) => Reconciled | void | PromiseLike<Reconciled | void>

/** Registers a reconciler for a resource. The types of its `children` follow from the option `owns`. */
export interface RegisterReconcile<M> {
  /**
   * Registers a reconciler: a function that is called whenever the object changes, to bring the world to the state that the object
   * describes. With the option `owns`, it also manages child objects.
   *
   * @example
   * ```ts
   * kopf.reconcile(Bucket, async ({ name, spec }) => {
   *   await cloud.ensureBucket(name, spec.region)
   * })
   * ```
   */
  <const R extends ResourceLike>(
    resource: R,
    handler: ReconcileFn<ReconcileArgs<ObjectOf<R>, M, never, NamespaceOf<R>>>,
  ): void
  /**
   * Registers a reconciler: a function that is called whenever an object, one of its children, or a watched related object changes. It
   * returns the desired children; the operator creates, updates and deletes them accordingly.
   *
   * @example
   * ```ts
   * kopf.reconcile(Website, { owns: ['configmaps'] }, ({ name, spec }) => ({
   *   children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { html: spec.html } }],
   * }))
   * ```
   */
  <
    const R extends ResourceLike,
    const O extends readonly ResourceLike[] = readonly [],
    const W extends readonly ResourceLike[] = readonly [],
    const P extends FieldPath = FieldPath,
  >(
    resource: R,
    options: ReconcileOptions<ArgsFor<'reconcile', R, M>, O, W, ObjectOf<R>, P>,
    handler: ReconcileFn<ReconcileArgs<ObjectOf<R>, M, O[number], NamespaceOf<R>>>,
  ): void
}

/** The result of an indexing function with keys. Undefined and null leave the index unchanged. */
type Pairs<K, V> = Iterable<readonly [K, V]> | null | undefined

type IndexFn<R extends ResourceLike, M, Result> = (args: ArgsFor<'index', R, M>) => Result | PromiseLike<Result>

type IndexOptions<R extends ResourceLike, M, P> = OptionsFor<'index', R, M, P>

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

/** Registers indexing functions. */
export interface RegisterIndex<M> {
  /**
   * Registers an indexing function and returns the index: an in-memory map of all objects of a resource. The function returns keys and
   * values: pairs, a `Map`, or a plain object. An empty result removes the object from the index; `undefined` and `null` leave its entries
   * unchanged.
   *
   * @example
   * ```ts
   * const podsOf = kopf.index('pods', ({ labels, name }) => [[labels['app'], name]])
   * podsOf.get('web') // the names of all pods with this label
   * ```
   */
  <const R extends ResourceLike, K extends Anything, V extends Anything>(
    resource: R,
    fn: IndexFn<R, M, Pairs<K, V>>,
  ): Index<K, V>
  /**
   * Registers an indexing function with options and returns the index: an in-memory map of the objects that the filters match. The function
   * returns keys and values: pairs, a `Map`, or a plain object.
   *
   * @example
   * ```ts
   * const podsOf = kopf.index('pods', { labels: { app: PRESENT } }, ({ labels, name }) => [[labels['app'], name]])
   * ```
   */
  <const R extends ResourceLike, K extends Anything, V extends Anything, const P extends FieldPath = FieldPath>(
    resource: R,
    options: IndexOptions<R, M, P>,
    fn: IndexFn<R, M, Pairs<K, V>>,
  ): Index<K, V>
  /**
   * Registers an indexing function and returns the index: an in-memory map of all objects of a resource. A plain object is stored as keys
   * and values, any other result as one value under the key null. `undefined` and `null` leave the entries of the object unchanged.
   *
   * @example
   * ```ts
   * const readyByName = kopf.index('pods', ({ name, status }) => ({ [name]: status.phase === 'Running' }))
   * ```
   */
  <const R extends ResourceLike, Result extends Anything>(
    resource: R,
    fn: IndexFn<R, M, Result>,
  ): IndexOf<NonNullable<Result>>
  /**
   * Registers an indexing function with options and returns the index: an in-memory map of the objects that the filters match. A plain
   * object is stored as keys and values, any other result as one value under the key null.
   *
   * @example
   * ```ts
   * const readyByName = kopf.index('pods', { labels: { app: 'web' } }, ({ name, status }) => ({ [name]: status.phase }))
   * ```
   */
  <const R extends ResourceLike, Result extends Anything, const P extends FieldPath = FieldPath>(
    resource: R,
    options: IndexOptions<R, M, P>,
    fn: IndexFn<R, M, Result>,
  ): IndexOf<NonNullable<Result>>
}

/** A version of a custom resource: its name, or the definition of the resource in that version. */
type VersionLike = string | ResourceDefinition<never> | ResourceDefinition<object>

/** An activity handler: one of the operator itself rather than of an object. */
type ActivityFn<M, Result = unknown> = (args: ActivityArgs<M>) => Result | PromiseLike<Result>

type ConvertFn<From, To, M> = (
  args: ConvertArgs<ObjectOf<From>, M>,
) => Converted<ObjectOf<To>> | PromiseLike<Converted<ObjectOf<To>>>

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
  startup(handler: ActivityFn<M>): void
  /**
   * Called when the operator starts, before any request to the cluster, with options for retries. If the handler fails permanently, the
   * operator does not start.
   *
   * @example
   * ```ts
   * kopf.on.startup({ retries: 3, backoff: '5s' }, async ({ memo }) => {
   *   memo.pool = await openPool()
   * })
   * ```
   */
  startup(options: ActivityOptions, handler: ActivityFn<M>): void
  /**
   * Called when the operator stops, after all other handlers have ended. For example, to close connections.
   *
   * @example
   * ```ts
   * kopf.on.cleanup(() => pool.end())
   * ```
   */
  cleanup(handler: ActivityFn<M>): void
  /**
   * Called when the operator stops, after all other handlers have ended, with options for retries.
   *
   * @example
   * ```ts
   * kopf.on.cleanup({ timeout: '10s' }, () => pool.end())
   * ```
   */
  cleanup(options: ActivityOptions, handler: ActivityFn<M>): void
  /**
   * Called when the operator needs credentials: at the start, and when the old ones expire or are rejected. Returns a `ConnectionInfo`,
   * or nothing. Without a login handler, the operator uses the service account of the pod, or else the kubeconfig.
   *
   * @example
   * ```ts
   * kopf.on.login(() => loginWithKubeconfig({ context: 'staging' }))
   * ```
   */
  login(handler: ActivityFn<M, LoginAnswer>): void
  /**
   * Called when the operator needs credentials, with options for retries. Returns a `ConnectionInfo`, or nothing.
   *
   * @example
   * ```ts
   * kopf.on.login({ retries: 3 }, () => loginWithKubeconfig({ context: 'staging' }))
   * ```
   */
  login(options: ActivityOptions, handler: ActivityFn<M, LoginAnswer>): void
  /**
   * Called when the liveness endpoint is requested, at most every 10 seconds while the probes succeed. The result appears in the
   * response under the id of the handler. An error makes the response a failure (500).
   *
   * @example
   * ```ts
   * kopf.on.probe(function database() {
   *   return pool.query('select 1').then(() => 'reachable')
   * })
   * ```
   */
  probe(handler: ActivityFn<M>): void
  /**
   * Called when the liveness endpoint is requested, at most every 10 seconds while the probes succeed. The result appears in the
   * response under `id`. An error makes the response a failure (500).
   *
   * @example
   * ```ts
   * kopf.on.probe({ id: 'database' }, () => pool.query('select 1').then(() => 'reachable'))
   * ```
   */
  probe(options: ActivityOptions, handler: ActivityFn<M>): void
  /**
   * Called once for each new object, including objects that were created while the operator was not running. The returned value is
   * stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.create('kopfexamples', async ({ name, spec, client }) => {
   *   await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { size: String(spec.size) } })
   * })
   * ```
   */
  create<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'create', R, M>>): void
  /**
   * Called once for each new object that the filters in the options match. The returned value is stored in `status.<id>` of the object;
   * return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.create('kopfexamples', { labels: { tier: 'gold' }, retries: 3 }, ({ name, logger }) => {
   *   logger.info(`Creating ${name}`)
   * })
   * ```
   */
  create<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'create', R, M, P>,
    handler: HandlerFn<ArgsFor<'create', R, M>>,
  ): void
  /**
   * Called once for each existing object after the operator starts, for example to connect to an external system again. Not called for
   * objects that are created later. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.resume('kopfexamples', ({ name, memo }) => {
   *   memo.connection = connect(name)
   * })
   * ```
   */
  resume<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'resume', R, M>>): void
  /**
   * Called once for each existing object that the filters match, after the operator starts. With `deleted: true`, also for objects that
   * are being deleted. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.resume('kopfexamples', { deleted: true }, ({ name, memo }) => {
   *   memo.connection = connect(name)
   * })
   * ```
   */
  resume<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'resume', R, M, P>,
    handler: HandlerFn<ArgsFor<'resume', R, M>>,
  ): void
  /**
   * Called when an object changes: its spec, labels, annotations, or any other field that users write. Not called for changes of
   * `status`, of system fields in `metadata`, or of the operator's own annotations. The returned value is stored in `status.<id>` of the
   * object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.update('kopfexamples', ({ diff, logger }) => {
   *   for (const { op, path } of diff) logger.info(`${op}: ${path.join('.')}`)
   * })
   * ```
   */
  update<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'update', R, M>>): void
  /**
   * Called when an object that the filters match changes. With `field`, only when that field changes, and `old` and `new` select the
   * values before and after. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.update('kopfexamples', { field: 'spec.size', new: (size) => size > 10 }, ({ spec, logger }) => {
   *   logger.info(`Growing to ${spec.size}`)
   * })
   * ```
   */
  update<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'update', R, M, P>,
    handler: HandlerFn<ArgsFor<'update', R, M>>,
  ): void
  /**
   * Called when the object is deleted. A finalizer holds the object until the handler has succeeded or failed permanently. The returned
   * value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.delete('kopfexamples', async ({ name }) => {
   *   await cloud.dropDatabase(name)
   * })
   * ```
   */
  delete<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'delete', R, M>>): void
  /**
   * Called when an object that the filters match is deleted. A finalizer holds the object until the handler has succeeded or failed
   * permanently, unless the handler is `optional`. The returned value is stored in `status.<id>` of the object; return nothing to store
   * nothing.
   *
   * @example
   * ```ts
   * kopf.on.delete('kopfexamples', { optional: true }, ({ name, logger }) => logger.info(`${name} is gone`))
   * ```
   */
  delete<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'delete', R, M, P>,
    handler: HandlerFn<ArgsFor<'delete', R, M>>,
  ): void
  /**
   * Called when one field is added, changed or removed, also on creation. Fields in `status` are possible, too. The returned value is
   * stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.field('kopfexamples', 'spec.size', ({ old, new: size, logger }) => logger.info(`Size: ${old} -> ${size}`))
   * ```
   */
  field<const R extends ResourceLike, const P extends FieldPath>(
    resource: R,
    field: CheckedPath<ObjectOf<R>, P>,
    handler: HandlerFn<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>>,
  ): void
  /**
   * Called when one field is added, changed or removed, also on creation, on objects that the filters match. `old` and `new` select the
   * values before and after. The returned value is stored in `status.<id>` of the object; return nothing to store nothing.
   *
   * @example
   * ```ts
   * kopf.on.field('kopfexamples', 'spec.size', { new: PRESENT }, ({ new: size, logger }) => logger.info(`Size: ${size}`))
   * ```
   */
  field<const R extends ResourceLike, const P extends FieldPath>(
    resource: R,
    field: CheckedPath<ObjectOf<R>, P>,
    options: FieldOptions<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>, ObjectOf<R>, P>,
    handler: HandlerFn<FieldArgs<ObjectOf<R>, M, NoInfer<P>, NamespaceOf<R>>>,
  ): void
  /**
   * Called for every watch event of an object, and for every listed object when the operator starts. Nothing is stored on the object.
   * Errors are logged and not retried.
   *
   * @example
   * ```ts
   * kopf.on.event('pods', ({ event, name, logger }) => logger.info(`${event.type}: ${name}`))
   * ```
   */
  event<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'event', R, M>>): void
  /**
   * Called for every watch event of an object that the filters match, and for every such object when the operator starts. Nothing is
   * stored on the object. Errors are logged and not retried.
   *
   * @example
   * ```ts
   * kopf.on.event('pods', { labels: { app: 'web' } }, ({ event, name, logger }) => logger.info(`${event.type}: ${name}`))
   * ```
   */
  event<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'event', R, M, P>,
    handler: HandlerFn<ArgsFor<'event', R, M>>,
  ): void
  /**
   * A validating admission webhook: called before a request to create, update or delete an object is executed. Throw an `AdmissionError`
   * to reject the request. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.validate('kopfexamples', ({ spec }) => {
   *   if (spec.size > 100) throw new AdmissionError('The size must be at most 100', { status: 422 })
   * })
   * ```
   */
  validate<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'validate', R, M>>): void
  /**
   * A validating admission webhook with options: called before a request that the filters match is executed. Throw an `AdmissionError`
   * to reject the request. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.validate('kopfexamples', { operations: ['DELETE'] }, ({ labels }) => {
   *   if (labels['protected'] === 'true') throw new AdmissionError('The object is protected')
   * })
   * ```
   */
  validate<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'validate', R, M, P>,
    handler: HandlerFn<ArgsFor<'validate', R, M>>,
  ): void
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
  mutate<const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<'mutate', R, M>>): void
  /**
   * A mutating admission webhook with options: called for requests that the filters match. Changes in `patch` are applied to the object
   * before it is validated and stored. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.mutate('kopfexamples', { operations: ['CREATE'] }, ({ patch, userinfo }) => {
   *   patch.meta.annotations = { 'example.com/creator': userinfo.username ?? 'unknown' }
   * })
   * ```
   */
  mutate<const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsFor<'mutate', R, M, P>,
    handler: HandlerFn<ArgsFor<'mutate', R, M>>,
  ): void
  /**
   * A conversion webhook: called when the API server needs an object in another version than the stored one. Returns the fields that
   * differ in the other version. Requires `settings.admission.server`.
   *
   * @example
   * ```ts
   * kopf.on.convert(Database, { from: 'v1', to: 'v2' }, ({ spec }) => ({ spec: { storage: { size: spec.size } } }))
   * ```
   */
  convert<const R extends ResourceLike, const From extends VersionLike, const To extends VersionLike>(
    resource: R,
    options: ConvertOptions<From, To>,
    handler: ConvertFn<From, To, M>,
  ): void
}
