/**
 * Types of the arguments and options of all handler types. The object types follow from the resource that a handler is registered for.
 * Types only: object-args.ts and the folders of the handler types create the values.
 */

import type { Diff, HandlerReason } from '../../causation/cause.ts'
import type { ConcealedValue } from '../../causation/concealed-value.ts'
import type { Client } from '../../client/client.ts'
import type { ObjectMeta } from '../../kube/objects.ts'
import type { ValueAt } from '../../kube/resources/path-types.ts'
import type {
  NamespaceOf,
  ObjectOf,
  OpenObject,
  Resource,
  ResourceDefinition,
  ResourceLike,
} from '../../kube/resources/resources.ts'
import type { Patch } from '../../patching/patch.ts'
import type { Settings } from '../../settings/settings.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'
import type { DeepReadonly } from '../../util/json/deep-types.ts'
import type { Logger } from '../../util/log/log.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { ActivityType } from '../handler-types.ts'
import type { Index } from '../index-table.ts'
import type {
  AdmissionHandlerOptions,
  AdmissionOperation,
  BackgroundOptions,
  CancellationOptions,
  ComparedOptions,
  ExistingPolicy,
  FieldPath,
  FilterOptions,
  MetaFilterOptions,
  NamedOptions,
  RetryOptions,
  ValueFilterOptions,
} from '../options.ts'
import type { ExecuteOptions, Step, SubhandlerOutcome } from './call-parts.ts'
import type { Conditions } from './conditions.ts'

import type { HandlerClock } from './handler-clock.ts'
import type { Metrics } from './metrics.ts'

/** The type of one top-level field, such as `spec`. An empty object if the type of the object does not have the field. */
type Stanza<T, K extends string> = T extends { readonly [P in K]?: infer V } ? NonNullable<V> : Record<string, never>

/** The type of the objects of a resource definition (`typeof Database`). Any other type is the type of the objects itself. */
type ObjectTypes<T> = T extends ResourceDefinition<infer _> ? ObjectOf<T> : T

/**
 * The `body` argument: a whole object, read-only at every depth. `T` is a resource (`Body<typeof Database>`) or the type of an object
 * (`Body<Pod>`). Default: an object with untyped fields.
 */
export type Body<T = OpenObject> = ReadonlyObject<ObjectTypes<T>>
/** The `spec` argument: the desired state, read-only. `T` is a resource or the type of an object, as for `Body`. */
export type Spec<T = OpenObject> = DeepReadonly<Stanza<ObjectTypes<T>, 'spec'>>
/**
 * The `status` argument: the observed state, read-only. All fields are optional, since a new object has no status. `T` is a resource or the
 * type of an object, as for `Body`.
 */
export type Status<T = OpenObject> = Partial<DeepReadonly<Stanza<ObjectTypes<T>, 'status'>>>
/** The `meta` argument: the `metadata` of an object, read-only. */
export interface Meta extends DeepReadonly<ObjectMeta> {}

/** The object with its metadata as `Meta`: editors then show that name rather than all fields of the metadata. */
type ReadonlyObject<T> = unknown extends T
  ? T
  : T extends object
    ? { readonly [K in keyof T]: K extends 'metadata' ? ReadonlyMetadata<T[K]> : DeepReadonly<T[K]> }
    : T

type ReadonlyMetadata<V> = [V, ObjectMeta] extends [ObjectMeta, V] ? Meta : DeepReadonly<V>

/** The type of the `memo` argument for operators without the option `memo`: an object with any fields. */
export interface Memo {
  [name: string]: unknown
}

/** The `event` argument of event handlers: one event of the watch, or one listed object. */
export interface RawEvent<T = OpenObject> {
  /** The type of the watch event. Null if the object comes from a list, for example when the operator starts. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  /** The object in the event. For `DELETED`, its last state. */
  readonly object: Body<T>
}

/**
 * The `recorder` argument: posts Kubernetes events about the handled object. Events are posted in the background; a failure is logged and
 * does not affect the handler. Without effect if `settings.posting.enabled` is false.
 *
 * @example
 * ```ts
 * kopf.on.create(Database, ({ recorder, spec }) => {
 *   recorder.info('Provisioned', `${spec.size} GiB are allocated`)
 * })
 * ```
 */
export interface Recorder {
  /** Posts an event of any type, regardless of `settings.posting.level`. */
  event(event: { readonly type: string; readonly reason: string; readonly message?: string }): void
  /** Posts an event of the type `Normal`. The reason is one word in CamelCase, the message a sentence. */
  info(reason: string, message?: string): void
  /** Posts an event of the type `Warning`. The reason is one word in CamelCase, the message a sentence. */
  warn(reason: string, message?: string): void
  /**
   * Posts an event of the type `Error`. The reason is `options.reason`; default: the name of the error. The message is `options.message`,
   * if given, followed by the message of the error.
   */
  exception(error: unknown, options?: { readonly reason?: string; readonly message?: string }): void
  /** Returns a recorder for one or several other objects. Each event is then posted for each of these objects. */
  for(object: object | readonly object[]): Recorder
}

/** The `indices` argument: all indices of the operator by id, without types. The function `index()` returns the same index with types. */
export type Indices = Readonly<Record<string, Index<unknown, unknown>>>

interface CommonArgs<M> {
  /** The logger of this handler. For handlers of objects, its lines begin with `[namespace/name]`. */
  readonly logger: Logger
  /**
   * In-memory data of the object, shared by all handlers of that object and lost when the operator stops. In activities: the memo of the
   * operator. See the option `memo` of the operator.
   */
  readonly memo: M
  /** The option `param` of this registration, unchanged. Default: undefined. */
  readonly param: unknown
  /**
   * A client for the API of the cluster. Its default namespace is that of the handled object. Not available in login handlers and workers.
   */
  readonly client: Client
  /** All indices of the operator, by id. Not available in workers. */
  readonly indices: Indices
  /** Your own counters, gauges and histograms, which the metrics endpoint of the operator serves. Not available in workers. */
  readonly metrics: Metrics
  /** The clock to use instead of `Date.now()` and `setTimeout`, so that tests can skip time. Not available in workers. */
  readonly clock: HandlerClock
  /**
   * Returns the current time as a `Date`, by the clock of the operator: use it instead of `new Date()`, so that tests can skip time. Not
   * available in workers.
   *
   * @example
   * ```ts
   * kopf.timer(Certificate, { interval: '1h' }, ({ status, now, patch }) => {
   *   if (new Date(status.expires) < now()) patch.status.phase = 'Expired'
   * })
   * ```
   */
  readonly now: () => Date
}

interface AttemptArgs {
  /** The number of attempts before this one: 0 at the first attempt. For timers and reconcilers: the attempts since the last success. */
  readonly retry: number
  /** The time when the first attempt began. */
  readonly started: Date
  /** The time since the first attempt began, in seconds. */
  readonly runtime: number
  /**
   * Aborted when the operator does not wait for this handler any longer, for example after `settings.queueing.exitTimeout` of a stop. Pass
   * it to `fetch` and other calls that take time.
   */
  readonly signal: AbortSignal
}

/**
 * The arguments of every handler of an object. `T` is the type of the object, `M` the type of the memo, and `N` the type of the namespace:
 * `string` for namespaced resources, `undefined` for cluster-scoped ones. The object and its parts are read-only: use `patch` to change it.
 */
export interface ObjectArgs<T, M, N = string | undefined> extends CommonArgs<M> {
  /** The resource of the object: group, version, plural, kind and so on. */
  readonly resource: Resource
  /** The whole object. */
  readonly body: Body<T>
  /** The `spec` of the object. Empty if the object has none. */
  readonly spec: Spec<T>
  /** The `status` of the object. Empty if the object has none. */
  readonly status: Status<T>
  /** The `metadata` of the object. */
  readonly meta: Meta
  /** The name of the object. */
  readonly name: string
  /** The namespace of the object. Undefined for cluster-scoped objects. */
  readonly namespace: N
  /** The uid of the object: unique even if another object had the same name before. */
  readonly uid: string
  /** The labels of the object. Empty if the object has none. */
  readonly labels: Readonly<Record<string, string>>
  /** The annotations of the object. Empty if the object has none. */
  readonly annotations: Readonly<Record<string, string>>
  /**
   * The changes to make on the object: assign a field to set it, null to remove it. The operator writes the patch when the handler has
   * ended, even if it has failed.
   */
  readonly patch: Patch<T>
  /** Sets the conditions in the status of the object. They are written with the patch; conditions of other writers are kept. */
  readonly conditions: Conditions
  /** Posts Kubernetes events about the object. */
  readonly recorder: Recorder
}

/** The arguments of event handlers (`on.event`). */
export interface EventArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N> {
  /** The event of the watch: its type and the object. */
  readonly event: RawEvent<T>
  /** Aborted when the operator does not wait for this handler any longer. Pass it to `fetch` and other calls that take time. */
  readonly signal: AbortSignal
}

/**
 * The result of `execute()`: the outcomes of the sub-handlers, by their own ids without the id of the parent. A sub-handler whose filters
 * did not match has no outcome.
 */
export type SubhandlerOutcomes<K extends string = never> = {
  readonly [id in K]: SubhandlerOutcome
} & {
  readonly [id: string]: SubhandlerOutcome | undefined
}

/** A sub-handler gets the same arguments as its parent, with its own `retry`, `started`, `runtime` and `patch`. */
type SubhandlerFunction<T, M, N> = (args: SubhandlerArgs<T, M, N>) => unknown

/** Whether the objects are Secrets: by the field `stringData`, which no other built-in kind has. */
type IsSecret<T> = string extends keyof T ? false : 'stringData' extends keyof T ? true : false

/** The last handled values of a Secret: strings only with `settings.persistence.secretValues: 'plain'`. */
type OldSecretValues = { readonly [name: string]: ConcealedValue | string }

type OldSecretField<K, V> = K extends 'data' | 'stringData'
  ? OldSecretValues | (undefined extends V ? undefined : never)
  : V

/** The last handled state of an object. For Secrets, only digests of the values are stored, so the values are concealed. */
type OldEssence<T> = IsSecret<T> extends true ? { [K in keyof T]: OldSecretField<K, T[K]> } : T

type NoEssence = 'apiVersion' | 'kind' | 'status' | 'metadata'

interface EssenceMetadata {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/**
 * The essence of an object: the fields whose changes trigger handlers. All fields except `status`, the system fields of `metadata` and the
 * operator's own annotations.
 */
export type BodyEssence<T> = DeepReadonly<Omit<T, NoEssence>> & EssenceMetadata

/** The essence that was handled last. For Secrets, the values are concealed. */
type FormerEssence<T> =
  IsSecret<T> extends true
    ? {
        readonly [K in keyof T as K extends NoEssence ? never : K]: OldSecretField<K, DeepReadonly<T[K]>>
      } & EssenceMetadata
    : BodyEssence<T>

/** The arguments of change handlers. `V` and `O` are the types of the new and the old value. */
interface ComparedArgs<T, M, V, O, N> extends ObjectArgs<T, M, N>, AttemptArgs {
  /** The cause of this call: `create`, `update`, `delete` or `resume`. */
  readonly reason: HandlerReason
  /**
   * The last handled essence of the object; for field handlers, the last handled value of the field. Undefined if there is none, as on
   * creation. The values of a Secret are of the class `ConcealedValue`.
   */
  readonly old: O | undefined
  /** The current essence of the object; for field handlers, the current value of the field. Undefined if there is none. */
  readonly new: V | undefined
  /** The differences between `old` and `new`, one item per field. The old values of a Secret are concealed, as in `old`. */
  readonly diff: Diff
  /**
   * Declares a sub-handler with its own progress and retries. Sub-handlers are called by `execute()`, or when this handler returns. The id
   * is appended to the id of the parent: `users/alice`.
   *
   * @example
   * ```ts
   * kopf.on.create(Database, { id: 'users' }, ({ spec, subhandler }) => {
   *   for (const user of spec.users) subhandler(user, { retries: 10 }, ({ name }) => createUser(name, user))
   * })
   * ```
   */
  readonly subhandler: {
    (id: string, fn: SubhandlerFunction<T, M, N>): void
    <const P extends FieldPath = FieldPath>(
      id: string,
      options: SubhandlerOptions<T, M, N, P>,
      fn: SubhandlerFunction<T, M, N>,
    ): void
  }
  /**
   * Calls the sub-handlers that were declared so far, and the given ones. Resolves with the outcome of each sub-handler when all have
   * finished. If a sub-handler has to be retried, `execute` ends this handler with an error that you must not catch; the handler is called
   * again later.
   *
   * A sub-handler that has failed permanently counts as finished: check `succeeded`, or pass `{ throwOnFailure: true }`.
   *
   * @example
   * ```ts
   * const { network } = await execute({ network: createNetwork, disks: createDisks })
   * if (!network.succeeded) logger.warn(`Without a network: ${network.message}`)
   * ```
   */
  readonly execute: <K extends string = never>(
    fns?: Readonly<Record<K, SubhandlerFunction<T, M, N>>> | readonly SubhandlerFunction<T, M, N>[],
    options?: ExecuteOptions,
  ) => Promise<SubhandlerOutcomes<K>>
  /**
   * Runs a function once per handling and stores its result: a retry, also after a restart or a crash, gets the stored result. The result
   * is stored on the object as JSON until the handler has finished, so it must not contain secrets.
   *
   * @example
   * ```ts
   * const bucket = await step('bucket', () => cloud.createBucket(name))
   * ```
   */
  readonly step: Step
}

/**
 * The arguments of change handlers: `on.create`, `on.update`, `on.delete`, `on.resume` and sub-handlers. `old`, `new` and `diff` are about
 * the essence of the object.
 */
export interface ChangeArgs<T, M, N = string | undefined>
  extends ComparedArgs<T, M, BodyEssence<T>, FormerEssence<T>, N> {}

/**
 * The arguments of field handlers (`on.field`): those of `ChangeArgs`, but `old`, `new` and `diff` are about the field. `P` is its path.
 */
export interface FieldArgs<T, M, P, N = string | undefined>
  extends ComparedArgs<T, M, ValueAt<T, P>, ValueAt<OldEssence<T>, P>, N> {}

/**
 * Why a daemon or a timer has to stop.
 *
 * - `filters-mismatch`: the object does not match the filters of the handler any more, or is not watched any more.
 * - `resource-deleted`: the object is deleted.
 * - `operator-pausing`: another operator of the peering has precedence.
 * - `operator-exiting`: the operator stops.
 */
export type DaemonStoppingReason = 'filters-mismatch' | 'resource-deleted' | 'operator-pausing' | 'operator-exiting'

/** The `stopped` argument of daemons and timers: a flag that is set when the handler has to stop. */
export interface Stopped {
  /** Returns whether the handler has to stop. */
  isSet(): boolean
  /** Why the handler has to stop: the latest reason if there are several. Undefined while the flag is not set. */
  readonly reason: DaemonStoppingReason | undefined
  /**
   * Waits for the duration, or until the flag is set; without a duration, until the flag is set. Resolves to whether the flag is set.
   *
   * @example
   * ```ts
   * while (!(await stopped.wait('10s'))) await check(name)
   * ```
   */
  wait(duration?: Duration): Promise<boolean>
  /** Aborted when the flag is set. Pass it to `fetch` and other calls that take time. */
  readonly signal: AbortSignal
}

/**
 * The arguments of daemons. `body`, `spec`, `status`, `meta`, `labels` and `annotations` are live: each access reads the latest state of
 * the object. The patch is written when the daemon ends.
 */
export interface DaemonArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N>, AttemptArgs {
  /** Set when the daemon has to stop, for example because the object is deleted. */
  readonly stopped: Stopped
}

/** The arguments of timers. The object is in the state at the beginning of the call. */
export interface TimerArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N>, AttemptArgs {
  /** Set when the timer has to stop, for example because the object is deleted. Only relevant for calls that take long. */
  readonly stopped: Stopped
}

/**
 * The `children` argument of reconcilers: the existing children of the object, typed by the option `owns`. They come from the watch cache:
 * reading them sends no request.
 */
export interface Children<O extends ResourceLike = ResourceLike> extends Iterable<Body<ObjectOf<O>>> {
  /** The number of children. */
  readonly size: number
  /** Returns the children of one resource. */
  of<R extends O>(resource: R): ReadonlyArray<Body<ObjectOf<R>>>
  /**
   * Returns one child by its name, or undefined if it does not exist. The namespace of a namespaced child is `options.namespace`; default:
   * the namespace of the object.
   */
  get<R extends O>(resource: R, name: string, options?: { readonly namespace?: string }): Body<ObjectOf<R>> | undefined
}

/** The arguments of reconcilers: the current state of the object and of its children, without the cause of the call. */
export interface ReconcileArgs<T, M, O extends ResourceLike = ResourceLike, N = string | undefined>
  extends ObjectArgs<T, M, N>,
    AttemptArgs {
  /** Whether the object is being deleted. With `cleanup: true`, this call is the time to clean up. */
  readonly deleting: boolean
  /** The existing children of the object, from the watch cache. */
  readonly children: Children<O>
  /**
   * Runs a function once and stores its result until this reconciler succeeds: a retry gets the stored result. Requires the option
   * `cleanup: true`. The result is stored on the object as JSON, so it must not contain secrets.
   */
  readonly step: Step
}

/**
 * A group of children in the result of a reconciler. The next group is applied when all children of this group are ready.
 *
 * @example
 * ```ts
 * return { children: [[claim], { children: [server], ready: (child) => child.status?.readyReplicas > 0 }, [ingress]] }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: without a parameter, any children are accepted, and the group fits any reconciler.
export interface ChildGroup<C = any> {
  /** The desired children of the group. */
  readonly children: readonly C[]
  /** Objects have a kind, groups have none. The compiler tells them apart by this field. */
  readonly kind?: never
  /**
   * Returns whether a child is ready. `byDefault` is the result for its kind, for example whether a Deployment is rolled out or a Job is
   * complete. Default: `byDefault`.
   */
  readonly ready?: (child: Body, byDefault: boolean) => boolean
  /** The policy for existing objects with the names of these children. Default: `existing` of the result, or else of the reconciler. */
  readonly existing?: ExistingPolicy
}

/**
 * The result of a reconciler. A reconciler may also return nothing: then its children stay unchanged. `C` is the type of the children, such
 * as `Reconciled<Deployment | Service>` for a function that is declared on its own. Default: any objects.
 */
// biome-ignore lint/suspicious/noExplicitAny: as for ChildGroup.
export interface Reconciled<C = any> {
  /**
   * The delay after which the reconciler is called again even if nothing has changed. A shorter `resync` has precedence. Default: the
   * option `resync`.
   */
  readonly requeueAfter?: Duration
  /**
   * All desired children: the operator creates and updates them, and deletes children that are not in the list. Objects, or groups of
   * objects that are applied one after the other. Default: the children stay unchanged.
   */
  readonly children?: ReadonlyArray<C | readonly C[] | ChildGroup<C>>
  /**
   * The policy for existing objects with the names of children, if it depends on the object:
   * `existing: spec.replaceExisting ? 'adopt' : 'leave'`. Default: the option `existing` of the reconciler.
   */
  readonly existing?: ExistingPolicy
}

/**
 * An object to reconcile, in the result of a function of the option `watches`: a name, or a name and a namespace. Default namespace: that
 * of the watched object.
 */
export type OwnerKey = string | { readonly name: string; readonly namespace?: string | undefined }

/** A watched resource, and a function that returns the objects to reconcile when an object of it changes. */
type WatchOf<R> = readonly [
  resource: R,
  ownersOf: (object: Body<ObjectOf<R>>) => ReadonlyArray<OwnerKey | null | undefined> | OwnerKey | null | undefined,
]

interface ReconcilingOptions<O extends readonly ResourceLike[], W extends readonly ResourceLike[]> {
  /**
   * The resources of the children: `[Deployment, 'services']`. Only these can be returned as children. The reconciler is called when a
   * child changes. Default: none.
   */
  readonly owns?: O
  /**
   * Other resources to watch, each with a function that returns which objects to reconcile when an object of that resource changes.
   * Default: none.
   *
   * @example
   * ```ts
   * watches: [['configmaps', ({ metadata }) => metadata.labels?.database]]
   * ```
   */
  readonly watches?: { readonly [K in keyof W]: WatchOf<W[K]> }
  /** How often the reconciler is called even if nothing has changed. Default: never. */
  readonly resync?: Duration
  /**
   * Whether a finalizer holds a deleted object until the reconciler was called with `deleting`, has succeeded, and the children are
   * deleted. Default: false; the garbage collector deletes the children.
   */
  readonly cleanup?: boolean
  /**
   * The policy for an existing object that has the name of a child and that the operator has not created: `refuse`, `leave` or `adopt`. The
   * reconciler can override it in its result. Default: `refuse`, since the author of the parent may choose the name.
   */
  readonly existing?: ExistingPolicy
  /** The same as `existing: 'adopt'`. Default: false. */
  readonly adopt?: boolean
}

/** The arguments of indexing functions. They cannot change the object: there is no `patch`. */
export interface IndexArgs<T, M, N = string | undefined>
  extends Omit<ObjectArgs<T, M, N>, 'patch' | 'conditions'>,
    AttemptArgs {}

/** The `userinfo` argument of admission handlers: the user who sent the request, as authenticated by the API server. */
export interface UserInfo {
  /** The name of the user: `alice`, or `system:serviceaccount:<namespace>:<name>`. */
  readonly username?: string
  /** The uid of the user, if the authenticator of the API server provides one. */
  readonly uid?: string
  /** The groups of the user: `['system:authenticated']`. */
  readonly groups?: readonly string[]
  /** Further attributes from the authenticator of the API server. */
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** The arguments of admission handlers (`on.validate`, `on.mutate`): the object of a request, and the request itself. */
export interface AdmissionArgs<T, M, N = string | undefined>
  extends Omit<ObjectArgs<T, M, N>, 'name' | 'uid' | 'patch' | 'conditions'>,
    AttemptArgs {
  /** The name of the object. Undefined if the object is created with `generateName`. */
  readonly name: string | undefined
  /** The uid of the object. Undefined if the object is created. */
  readonly uid: string | undefined
  /**
   * The changes to make on the object before the API server stores it. Only for `on.mutate`: a patch of a validating handler is ignored,
   * with a warning in the log.
   */
  readonly patch: Patch<T>
  /** The operation of the request: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. */
  readonly operation: AdmissionOperation
  /** The subresource of the request, such as `status`. Undefined for the object itself. */
  readonly subresource: string | undefined
  /** Whether the request is a dry run: the API server stores nothing, and the handler must not have side effects. */
  readonly dryrun: boolean
  /** Warnings for the user who sent the request: push texts to this list. kubectl prints them. */
  readonly warnings: string[]
  /** The user who sent the request. */
  readonly userinfo: UserInfo
  /** The HTTP headers of the request from the API server. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The client certificate of the API server. Undefined if the webhook server has not requested and verified one. */
  readonly sslpeer: SslPeer | undefined
  /** The stored object. Undefined if the object is created. */
  readonly old: Body<T> | undefined
  /** The object after the request. Undefined if the object is deleted. */
  readonly new: Body<T> | undefined
  /** The differences between `old` and `new`, one item per field. */
  readonly diff: Diff
}

/** The arguments of conversion handlers (`on.convert`). `body` and its parts are in the version `from`. */
export interface ConvertArgs<T, M> extends Omit<ObjectArgs<T, M>, 'patch' | 'conditions' | 'recorder'> {
  /** The version that the object has, such as `v1`. */
  readonly from: string
  /** The version that the result must have, such as `v2`. */
  readonly to: string
}

/**
 * The result of a conversion handler: the top-level fields that differ in the other version. Fields that are not returned stay unchanged,
 * null removes a field. Within `metadata`, only labels and annotations can change.
 *
 * @example
 * ```ts
 * kopf.on.convert(Database, { from: 'v1', to: 'v2' }, ({ spec }) => ({ spec: { storage: { size: spec.size } } }))
 * ```
 */
export type Converted<T> = {
  readonly [K in keyof T as K extends 'apiVersion' | 'kind' | 'metadata' ? never : K]?: DeepReadonly<T[K]> | null
} & {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>> | null
    readonly annotations?: Readonly<Record<string, string>> | null
  }
}

/** The arguments of activity handlers: `on.startup`, `on.login`, `on.probe` and `on.cleanup`. They have no object. */
export interface ActivityArgs<M> extends CommonArgs<M>, AttemptArgs {
  /** The settings of the operator. A startup handler can change them. */
  readonly settings: Settings
}

/** The arguments of each handler type that has a resource, except `field`, `subhandler` and `convert`. */
interface ArgsOf<T, M, N = string | undefined> {
  create: ChangeArgs<T, M, N>
  resume: ChangeArgs<T, M, N>
  update: ChangeArgs<T, M, N>
  delete: ChangeArgs<T, M, N>
  event: EventArgs<T, M, N>
  index: IndexArgs<T, M, N>
  daemon: DaemonArgs<T, M, N>
  timer: TimerArgs<T, M, N>
  reconcile: ReconcileArgs<T, M, ResourceLike, N>
  validate: AdmissionArgs<T, M, N>
  mutate: AdmissionArgs<T, M, N>
}

/** The arguments of a handler type for the objects of a resource. */
export type ArgsFor<K extends ObjectHandlerType, R, M> = ArgsOf<ObjectOf<R>, M, NamespaceOf<R>>[K]

/** The handler types that are registered with a resource and a function: `create`, `timer`, `validate` and so on. */
export type ObjectHandlerType = keyof ArgsOf<OpenObject, object>

/**
 * The arguments of a handler function that is declared on its own. `K` is the handler type: `create`, `timer`, `startup` and so on. `R` is
 * the resource; default: any object. The third parameter is the type of the memo; for field handlers, it is the path of the field, which
 * gives `old` and `new` their types, and the memo is the fourth.
 *
 * @example
 * ```ts
 * async function greet({ name, logger }: Args<'create', typeof Database>) {
 *   logger.info(`Hello, ${name}`)
 * }
 * function resize({ old, new: size }: Args<'field', typeof Database, 'spec.size'>) {}
 * function configure({ settings }: Args<'startup'>) {}
 * ```
 */
export type Args<
  K extends ArgsHandlerType,
  R extends ResourceLike = string,
  P extends ArgsParameter<K>['type'] = ArgsParameter<K>['byDefault'],
  M = Memo,
> = K extends ObjectHandlerType
  ? ArgsFor<K, R, P>
  : K extends 'field'
    ? FieldArgs<ObjectOf<R>, M, P extends readonly string[] ? Readonly<P> : P, NamespaceOf<R>>
    : K extends 'subhandler'
      ? ArgsFor<'create', R, P>
      : K extends 'convert'
        ? ConvertArgs<ObjectOf<R>, P>
        : ActivityArgs<P>

/** All handler types, as the first parameter of `Args`. */
export type ArgsHandlerType = ObjectHandlerType | ActivityType | 'field' | 'subhandler' | 'convert'

/** The third parameter of `Args`: the path for field handlers, the type of the memo for all other handler types. */
export interface ArgsParameter<K extends ArgsHandlerType> {
  /** The constraint of the parameter. */
  readonly type: K extends 'field' ? FieldPath : unknown
  /** The default of the parameter. */
  readonly byDefault: K extends 'field' ? FieldPath : Memo
}

/** The arguments of filter callbacks: without those of an attempt, since filters run before the first attempt. */
type FilterArgs<A> = Omit<
  A,
  | keyof AttemptArgs
  | 'param'
  | 'patch'
  | 'conditions'
  | 'subhandler'
  | 'execute'
  | 'step'
  | 'stopped'
  | 'deleting'
  | 'children'
  | 'warnings'
>

type FilteringOptions<A, T = unknown, P = FieldPath> = NamedOptions & FilterOptions<FilterArgs<A>, T, P>
type ComparingOptions<A, T = unknown, P = FieldPath> = ComparedOptions<
  FilterArgs<A>,
  ValueAt<T, P>,
  ValueAt<OldEssence<T>, P>
>

type SubhandlerArgs<T, M, N> = ChangeArgs<T, M, N>
type SubhandlerOptions<T, M, N, P> = Pick<NamedOptions, 'param'> &
  FilterOptions<FilterArgs<SubhandlerArgs<T, M, N>>, T, P> &
  RetryOptions &
  ComparingOptions<SubhandlerArgs<T, M, N>, T, P>

/** The options of each handler type. `A`: its arguments, `T`: the type of the objects, `P`: the path in the option `field`. */
export interface OptionsOf<A, T = unknown, P = FieldPath> {
  create: FilteringOptions<A, T, P> & RetryOptions
  resume: FilteringOptions<A, T, P> &
    RetryOptions & {
      /** Whether the handler is also called for objects that are being deleted. Default: false. */
      readonly deleted?: boolean
    }
  update: FilteringOptions<A, T, P> & RetryOptions & ComparingOptions<A, T, P>
  delete: FilteringOptions<A, T, P> &
    RetryOptions & {
      /** Whether the object may be deleted before the handler was called: no finalizer is added for this handler. Default: false. */
      readonly optional?: boolean
    }
  event: FilteringOptions<A, T, P>
  index: FilteringOptions<A, T, P> & RetryOptions
  daemon: FilteringOptions<A, T, P> & RetryOptions & BackgroundOptions<FilterArgs<A>> & CancellationOptions
  timer: FilteringOptions<A, T, P> & RetryOptions & BackgroundOptions<FilterArgs<A>>
  reconcile: FilteringOptions<A, T, P> &
    RetryOptions &
    ReconcilingOptions<readonly ResourceLike[], readonly ResourceLike[]>
  validate: FilteringOptions<A, T, P> & AdmissionHandlerOptions
  mutate: FilteringOptions<A, T, P> & AdmissionHandlerOptions
}

/** The options of reconcilers, with the types of the owned (`O`) and watched (`W`) resources. */
export type ReconcileOptions<
  A,
  O extends readonly ResourceLike[],
  W extends readonly ResourceLike[],
  T = unknown,
  P = FieldPath,
> = FilteringOptions<A, T, P> & RetryOptions & ReconcilingOptions<O, W>

/** The options of `on.convert`. Both versions are required. */
export interface ConvertOptions<From, To> extends NamedOptions {
  /** The version to convert from: a name such as `v1`, or the resource definition of that version, which gives the object its type. */
  readonly from: From
  /** The version to convert to: a name such as `v2`, or the resource definition of that version, which gives the result its type. */
  readonly to: To
}

/** The options of `on.field`. */
export type FieldOptions<A, T, P> = NamedOptions &
  MetaFilterOptions<FilterArgs<A>> &
  ValueFilterOptions<FilterArgs<A>, T, P> &
  RetryOptions &
  ComparingOptions<A, T, P>

/** The options of `on.startup`, `on.login`, `on.probe` and `on.cleanup`. */
export type ActivityOptions = NamedOptions & RetryOptions
