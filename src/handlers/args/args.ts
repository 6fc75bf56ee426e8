/**
 * What handlers are called with: the one table of kinds, and the types that flow from the resource into it.
 * The values are put together in arguments.ts.
 */

import type { Diff, HandlerReason } from '../../causation/cause.ts'
import type { ConcealedValue } from '../../causation/concealed-value.ts'
import type { Client } from '../../client/client.ts'
import type { ObjectMeta } from '../../kube/objects.ts'
import type {
  NamespaceOf,
  ObjectOf,
  OpenObject,
  Resource,
  ResourceDefinition,
  ResourceLike,
  SecretMark,
} from '../../kube/resources/resources.ts'
import type { Patch } from '../../patching/patch.ts'
import type { Settings } from '../../settings/settings.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'
import type { DeepReadonly } from '../../util/json/deep-types.ts'
import type { Logger } from '../../util/log/log.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { ActivityType } from '../definition.ts'
import type { AdmissionOperation, ExistingPolicy, FieldPath } from '../handler.ts'
import type { Index } from '../index-table.ts'
import type {
  AdmissionHandlerOptions,
  BackgroundOptions,
  CancellationOptions,
  ComparedOptions,
  FilterOptions,
  NamedOptions,
  RetryOptions,
  TimerOptions,
} from '../options.ts'
import type { ExecuteOptions, Step, SubhandlerOutcome } from './call-parts.ts'
import type { Conditions } from './conditions.ts'
import type { ValueAt } from './field-types.ts'
import type { HandlerClock } from './handler-clock.ts'

/** A stanza of the object; an empty one where the object has none, so that it can be looked into at once. */
type Stanza<T, K extends string> = T extends { readonly [P in K]?: infer V } ? NonNullable<V> : Record<string, never>

/** The type of the objects: of a resource as `typeof Database` that of its objects, of any other type the type itself. */
type ObjectTypes<T> = T extends ResourceDefinition<infer _> ? ObjectOf<T> : T

/**
 * The parts of an object as handlers get them, by Kopf's names; of any object, of the objects of a resource
 * (`Body<typeof Database>`), or of objects of a type (`Body<Pod>`).
 */
export type Body<T = OpenObject> = DeepReadonly<ObjectTypes<T>>
/** The `spec` of an object: what people want of it. `T` as for `Body`. */
export type Spec<T = OpenObject> = DeepReadonly<Stanza<ObjectTypes<T>, 'spec'>>
/** The `status` of an object: what is the case. Nothing in it is sure to be there. `T` as for `Body`. */
export type Status<T = OpenObject> = Partial<DeepReadonly<Stanza<ObjectTypes<T>, 'status'>>>
/** The `metadata` of an object. */
export type Meta = DeepReadonly<ObjectMeta>

/** What is remembered of an object, unless the operator has a memo of its own. */
export type Memo = Record<string, unknown>

/** As it came over the wire; the type is null for objects that were listed. */
export interface RawEvent<T = OpenObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  readonly object: DeepReadonly<T>
}

/** Posts Kubernetes events about the object at hand, or about another one; in the background. */
export interface Recorder {
  /** An event of any type, whatever `posting.level` is. */
  event(event: { readonly type: string; readonly reason: string; readonly message?: string }): void
  /** An event of the type `Normal`. */
  info(reason: string, message?: string): void
  /** An event of the type `Warning`. */
  warn(reason: string, message?: string): void
  /** The reason is the name of the error and the message its message, unless told. */
  exception(error: unknown, options?: { readonly reason?: string; readonly message?: string }): void
  /** The same for another object, or for several. */
  for(object: object | readonly object[]): Recorder
}

/** All indices by their ids; the value of `index()` is the same, with types. */
export type Indices = Readonly<Record<string, Index<unknown, unknown>>>

interface CommonArgs<M> {
  readonly logger: Logger
  readonly memo: M
  /** The option `param` of this registration. */
  readonly param: unknown
  readonly client: Client
  readonly indices: Indices
  /** The time, which tests can skip: instead of `Date.now()` and `setTimeout`. Not in workers. */
  readonly clock: HandlerClock
}

interface AttemptArgs {
  /** How many attempts were made before this one. */
  readonly retry: number
  /** When the first attempt began. */
  readonly started: Date
  /** Seconds since then. */
  readonly runtime: number
  /** Aborted when the operator has no more time for this. */
  readonly signal: AbortSignal
}

/**
 * What every handler of an object is called with. `T` is the type of the object, `M` that of the memo, and `N` that of the
 * namespace: `string` for namespaced resources, `undefined` for cluster-scoped ones.
 */
export interface ObjectArgs<T, M, N = string | undefined> extends CommonArgs<M> {
  readonly resource: Resource
  readonly body: Body<T>
  readonly spec: Spec<T>
  readonly status: Status<T>
  readonly meta: Meta
  readonly name: string
  /** A string for namespaced resources, undefined for cluster-scoped ones. */
  readonly namespace: N
  readonly uid: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** What to change on the object: merged into it when the handler is done; null deletes. */
  readonly patch: Patch<T>
  /** What the status says of the object: written with the patch, and never over those of others. */
  readonly conditions: Conditions
  readonly recorder: Recorder
}

/** What handlers of raw events are called with. */
export interface EventArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N> {
  readonly event: RawEvent<T>
  /** Aborted when the operator has no more time for this. */
  readonly signal: AbortSignal
}

/** By the own ids of sub-handlers. Those that were declared with filters are there only where they were called. */
export type SubhandlerOutcomes<K extends string = never> = {
  readonly [id in K]: SubhandlerOutcome
} & {
  readonly [id: string]: SubhandlerOutcome | undefined
}

/** What a sub-handler is called with: as its parent, but for its own values. */
type SubhandlerFunction<T, M, N> = (args: SubhandlerArgs<T, M, N>) => unknown

/**
 * Whether the objects are Secrets: a text named them, or their type has the field `stringData`, which no other kind of Kubernetes has.
 */
type IsSecret<T> = SecretMark extends keyof T
  ? true
  : string extends keyof T
    ? false
    : 'stringData' extends keyof T
      ? true
      : false

/** The values of a Secret as they were handled last: strings only with `settings.persistence.secretValues: 'plain'`. */
type OldSecretValues = { readonly [name: string]: ConcealedValue | string }

type OldSecretField<K, V> = K extends 'data' | 'stringData'
  ? OldSecretValues | (undefined extends V ? undefined : never)
  : V

/** An object as it was handled last: as it is, but for the values of Secrets, of which only digests are stored. */
type OldEssence<T> = IsSecret<T> extends true ? { [K in keyof T]: OldSecretField<K, T[K]> } : T

type NoEssence = 'apiVersion' | 'kind' | 'status' | 'metadata'

interface EssenceMetadata {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
}

/** The part of an object that counts as a change. */
export type BodyEssence<T> = DeepReadonly<Omit<T, NoEssence>> & EssenceMetadata

/** The same as it was handled last. */
type FormerEssence<T> =
  IsSecret<T> extends true
    ? {
        readonly [K in keyof T as K extends NoEssence | SecretMark ? never : K]: OldSecretField<K, DeepReadonly<T[K]>>
      } & EssenceMetadata
    : BodyEssence<T>

/** What handlers of creation, update, deletion and resuming are called with: the object, and what has changed. */
export interface ChangeArgs<T, M, V = BodyEssence<T>, N = string | undefined, O = FormerEssence<T>>
  extends ObjectArgs<T, M, N>,
    AttemptArgs {
  readonly reason: HandlerReason
  /** As it was handled last. Of Secrets, the values are concealed: `ConcealedValue`. */
  readonly old: O | undefined
  /** As it is. */
  readonly new: V | undefined
  /** What differs between them. The old values of Secrets are concealed, as in `old`. */
  readonly diff: Diff
  /** Declares a sub-handler, whose progress is kept apart; run by `execute()`, or when this handler returns. */
  readonly subhandler: {
    (id: string, fn: SubhandlerFunction<T, M, N>): void
    <const P extends FieldPath = FieldPath>(
      id: string,
      options: SubhandlerOptions<T, M, N, P>,
      fn: SubhandlerFunction<T, M, N>,
    ): void
  }
  /**
   * Runs the sub-handlers declared so far, and those given. Resolves when all are finished, with the outcome of each by its own id. While
   * some are not finished, it ends this handler by a throw that must not be caught, and the handler is called again later.
   *
   * A sub-handler that has failed for good is finished, too: look at `succeeded`, or pass `{ throwOnFailure: true }`.
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
   * Runs the function once, and remembers what it has come to until this handler has finished: across retries, restarts and
   * crashes. The result is kept on the object, as JSON: no secrets.
   */
  readonly step: Step
}

/** As `ChangeArgs`, but `old`, `new` and `diff` are of the field alone. `P` is its path. */
export type FieldArgs<T, M, P, N = string | undefined> = ChangeArgs<T, M, ValueAt<T, P>, N, ValueAt<OldEssence<T>, P>>

/** Why a daemon or a timer is told to stop; the latest reason where there are several. */
export type DaemonStoppingReason = 'filters-mismatch' | 'resource-deleted' | 'operator-pausing' | 'operator-exiting'

/** Whether to stop, for those that run beside an object. */
export interface Stopped {
  /** Whether it is time to stop. */
  isSet(): boolean
  /** Undefined as long as it is not set. */
  readonly reason: DaemonStoppingReason | undefined
  /** Resolves after so long, or as soon as it is set; for ever until then without a duration. Says whether it is set. */
  wait(duration?: Duration): Promise<boolean>
  /** Aborted as soon as it is set: for `fetch`, timers and the like. */
  readonly signal: AbortSignal
}

/** The object and its parts are live: they show its latest state whenever they are looked into. */
export interface DaemonArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N>, AttemptArgs {
  readonly stopped: Stopped
}

/** What timers are called with. */
export interface TimerArgs<T, M, N = string | undefined> extends ObjectArgs<T, M, N>, AttemptArgs {
  readonly stopped: Stopped
}

/** The children of an object as they are now, typed by `owns`: from memory, without a request. */
export interface Children<O extends ResourceLike = ResourceLike> extends Iterable<Body<ObjectOf<O>>> {
  readonly size: number
  /** Those of one kind, by their names. */
  of<R extends O>(resource: R): ReadonlyArray<Body<ObjectOf<R>>>
  /** In the namespace of the object, unless told. */
  get<R extends O>(resource: R, name: string, options?: { readonly namespace?: string }): Body<ObjectOf<R>> | undefined
}

/** Always the object as it is, whatever has happened to it or to what belongs to it. */
export interface ReconcileArgs<T, M, O extends ResourceLike = ResourceLike, N = string | undefined>
  extends ObjectArgs<T, M, N>,
    AttemptArgs {
  /** Whether the object is on its way out: what has to be done before it goes is done now. */
  readonly deleting: boolean
  readonly children: Children<O>
  /**
   * Runs the function once, and remembers what it has come to until this reconciler returns without an error; with
   * `cleanup: true` only. The result is kept on the object, as JSON: no secrets.
   */
  readonly step: Step
}

/** Children that are applied together, when those of the group before are ready. */
export interface ChildGroup {
  readonly children: readonly object[]
  /** Whether a child is as far as the next group needs it; `byDefault` says what is assumed of its kind. */
  readonly ready?: (child: Body, byDefault: boolean) => boolean
  /** What to do with objects that exist under the names of these children. Default: as for all that are returned with them. */
  readonly existing?: ExistingPolicy
}

/** What a reconciler may return. */
export interface Reconciled {
  /** When to call it again, if nothing happens before. */
  readonly requeueAfter?: Duration
  /**
   * All children that the object should have: they are made, changed and deleted accordingly. Objects, or groups of them in
   * the order in which they depend on each other. Without it, the children stay as they are.
   */
  readonly children?: ReadonlyArray<ChildGroup | readonly object[] | object>
  /**
   * What to do with objects that exist under the names of children, where that depends on the object:
   * `existing: spec.replaceExisting ? 'adopt' : 'leave'`. Default: the option `existing` of the reconciler.
   */
  readonly existing?: ExistingPolicy
}

/** An object that is to be reconciled: by its name, in the namespace of the object at hand unless told. */
export type OwnerKey = string | { readonly name: string; readonly namespace?: string | undefined }

/** A resource, and whom an object of it concerns. */
type WatchOf<R> = readonly [
  resource: R,
  ownersOf: (object: Body<ObjectOf<R>>) => ReadonlyArray<OwnerKey | null | undefined> | OwnerKey | null | undefined,
]

interface ReconcilingOptions<O extends readonly ResourceLike[], W extends readonly ResourceLike[]> {
  /** The kinds of its children: `[Deployment, 'services']`. It is called when one of them changes. */
  readonly owns?: O
  /** Other objects that it depends on, each with a function that says whom they concern. */
  readonly watches?: { readonly [K in keyof W]: WatchOf<W[K]> }
  /** How often to call it although nothing has happened. Default: never. */
  readonly resync?: Duration
  /** Whether the object stays until it was called with `deleting` and returned without an error. Default: false. */
  readonly cleanup?: boolean
  /**
   * What to do with an object that exists under the name of a child, and that the operator has not created: `refuse`, `leave` or `adopt`.
   * A reconciler can also return it, beside `children`. Default: `refuse`, since the author of the parent chooses that name.
   */
  readonly existing?: ExistingPolicy
  /** The same as `existing: 'adopt'`. Default: false. */
  readonly adopt?: boolean
}

/** What is found goes into the index; the object itself is not changed here. */
export interface IndexArgs<T, M, N = string | undefined>
  extends Omit<ObjectArgs<T, M, N>, 'patch' | 'conditions'>,
    AttemptArgs {}

/** Who made the request, as the API server says. */
export interface UserInfo {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Of an object that is created with `generateName` there is no name yet, and no uid of one that is created. */
export interface AdmissionArgs<T, M, N = string | undefined>
  extends Omit<ObjectArgs<T, M, N>, 'name' | 'uid' | 'conditions'>,
    AttemptArgs {
  readonly name: string | undefined
  readonly uid: string | undefined
  readonly operation: AdmissionOperation
  /** Undefined for the object itself. */
  readonly subresource: string | undefined
  /** Whether nothing will come of the request: then nothing may come of the handler either. */
  readonly dryrun: boolean
  /** What is pushed here is shown to whoever made the request. */
  readonly warnings: string[]
  readonly userinfo: UserInfo
  /** Of the request of the API server, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The client certificate of the API server, if one was asked for and verified. */
  readonly sslpeer: SslPeer | undefined
  /** The whole object as it is; undefined where it is created. */
  readonly old: Body<T> | undefined
  /** The whole object as it would be; undefined where it is deleted. */
  readonly new: Body<T> | undefined
  readonly diff: Diff
}

/** The object in the version it is converted from. */
export interface ConvertArgs<T, M> extends Omit<ObjectArgs<T, M>, 'patch' | 'conditions' | 'recorder'> {
  /** The versions, such as `v1`. */
  readonly from: string
  readonly to: string
}

/**
 * What is different in the other version: stanzas that are not named stay as they are, null removes them. Of the metadata,
 * only labels and annotations can be changed.
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

/** What handlers of the operator's own life are called with: startup, cleanup, login, probes. */
export interface ActivityArgs<M> extends CommonArgs<M>, AttemptArgs {
  readonly settings: Settings
}

/** Which arguments each kind of handler is called with: the one table. */
interface ArgsOf<T, M, N = string | undefined> {
  create: ChangeArgs<T, M, BodyEssence<T>, N>
  resume: ChangeArgs<T, M, BodyEssence<T>, N>
  update: ChangeArgs<T, M, BodyEssence<T>, N>
  delete: ChangeArgs<T, M, BodyEssence<T>, N>
  event: EventArgs<T, M, N>
  index: IndexArgs<T, M, N>
  daemon: DaemonArgs<T, M, N>
  timer: TimerArgs<T, M, N>
  reconcile: ReconcileArgs<T, M, ResourceLike, N>
  validate: AdmissionArgs<T, M, N>
  mutate: AdmissionArgs<T, M, N>
}

/** As `ArgsOf`, for a resource. */
export type ArgsFor<K extends ArgsKindName, R, M> = ArgsOf<ObjectOf<R>, M, NamespaceOf<R>>[K]

export type ArgsKindName = keyof ArgsOf<OpenObject, object>

/**
 * The arguments of a handler that is declared apart from its registration. `K` is the type of the handler as in the name of
 * the function that registers it; `R` is the resource, any object by default; `M` is the type of the memo. Field handlers
 * have the path of the field before the memo: with it, `old` and `new` are typed.
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
  K extends ArgsKind,
  R extends ResourceLike = string,
  P extends ArgsParameter<K>['type'] = ArgsParameter<K>['byDefault'],
  M = Memo,
> = K extends ArgsKindName
  ? ArgsFor<K, R, P>
  : K extends 'field'
    ? FieldArgs<ObjectOf<R>, M, P, NamespaceOf<R>>
    : K extends 'subhandler'
      ? ArgsFor<'create', R, P>
      : K extends 'convert'
        ? ConvertArgs<ObjectOf<R>, P>
        : ActivityArgs<P>

/** The types of handlers whose arguments `Args` knows: all that there are. */
export type ArgsKind = ArgsKindName | ActivityType | 'field' | 'subhandler' | 'convert'

/** The third parameter of `Args`: the path of a field handler, the memo of all others. */
export interface ArgsParameter<K extends ArgsKind> {
  readonly type: K extends 'field' ? FieldPath : unknown
  readonly byDefault: K extends 'field' ? FieldPath : Memo
}

/** What filters see: no attempt is under way yet. */
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

type SubhandlerArgs<T, M, N> = ChangeArgs<T, M, BodyEssence<T>, N>
type SubhandlerOptions<T, M, N, P> = Omit<FilteringOptions<SubhandlerArgs<T, M, N>, T, P>, 'id'> &
  RetryOptions &
  ComparingOptions<SubhandlerArgs<T, M, N>, T, P>

/** The options of each kind, by its arguments, the type of its objects, and the path in its option `field`. */
export interface OptionsOf<A, T = unknown, P = FieldPath> {
  create: FilteringOptions<A, T, P> & RetryOptions
  resume: FilteringOptions<A, T, P> &
    RetryOptions & {
      /** Also for objects that are being deleted. Default: false. */
      readonly deleted?: boolean
    }
  update: FilteringOptions<A, T, P> & RetryOptions & ComparingOptions<A, T, P>
  delete: FilteringOptions<A, T, P> &
    RetryOptions & {
      /** Nice to have: the object may go without it, so no finalizer is put on for it. Default: false. */
      readonly optional?: boolean
    }
  event: FilteringOptions<A, T, P>
  index: FilteringOptions<A, T, P> & RetryOptions
  daemon: FilteringOptions<A, T, P> & RetryOptions & BackgroundOptions<FilterArgs<A>> & CancellationOptions
  timer: FilteringOptions<A, T, P> & RetryOptions & BackgroundOptions<FilterArgs<A>> & TimerOptions
  reconcile: FilteringOptions<A, T, P> &
    RetryOptions &
    ReconcilingOptions<readonly ResourceLike[], readonly ResourceLike[]>
  validate: FilteringOptions<A, T, P> & AdmissionHandlerOptions
  mutate: FilteringOptions<A, T, P> & AdmissionHandlerOptions
}

/** As those of the table, with the kinds that it owns and watches. */
export type ReconcileOptions<
  A,
  O extends readonly ResourceLike[],
  W extends readonly ResourceLike[],
  T = unknown,
  P = FieldPath,
> = FilteringOptions<A, T, P> & RetryOptions & ReconcilingOptions<O, W>

export interface ConvertOptions<From, To> extends NamedOptions {
  /** The version, such as `v1`; or the definition of the resource in that version, for its types. */
  readonly from: From
  readonly to: To
}

export type FieldOptions<A, T, P> = Omit<FilteringOptions<A, T, P>, 'field'> & RetryOptions & ComparingOptions<A, T, P>

export type ActivityOptions = NamedOptions & RetryOptions
