/**
 * What handlers are called with: the one table of kinds, and the types that flow from the resource into it.
 * The values are put together in arguments.ts.
 */
import type { Client } from '../../client/client.ts'
import type { ObjectMeta } from '../../kube/objects.ts'
import type { ObjectOf, OpenObject, Resource, ResourceLike, SecretMark } from '../../kube/resources.ts'
import type { Duration } from '../../util/duration.ts'
import type { Logger } from '../../util/log.ts'
import type { Diff, HandlerReason } from '../causation/causes.ts'
import type { ConcealedValue } from '../causation/concealed-value.ts'
import type { Patch } from '../patching/patch.ts'
import type { Settings } from '../settings.ts'
import type { SslPeer } from '../webhook-server.ts'
import type { Conditions } from './conditions.ts'
import type { AdmissionOperation } from './handler.ts'
import type { Index } from './index-table.ts'
import type {
  AdmissionOptions,
  BackgroundOptions,
  CancellationOptions,
  CompareOptions,
  FilterOptions,
  NamedOptions,
  RetryOptions,
  RhythmOptions,
} from './options.ts'
import type { Step } from './steps.ts'
import type { ExecuteOptions, SubhandlerOutcome } from './subhandling.ts'

/** Everything below it is read-only too. Functions and scalars stay as they are. */
type DeepReadonly<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T

/** A stanza of the object; an empty one where the object has none, so that it can be looked into at once. */
type Stanza<T, K extends string> = T extends { readonly [P in K]?: infer V } ? NonNullable<V> : Record<string, never>

/** The parts of an object as handlers get them, by Kopf's names; of any object, or of one whose type is known. */
export type Body<T = OpenObject> = DeepReadonly<T>
/** The `spec` of an object: what people want of it. */
export type Spec<T = OpenObject> = DeepReadonly<Stanza<T, 'spec'>>
/** The `status` of an object: what is the case. Nothing in it is sure to be there. */
export type Status<T = OpenObject> = Partial<DeepReadonly<Stanza<T, 'status'>>>
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
}

interface RetryArgs {
  /** How many attempts were made before this one. */
  readonly retry: number
  /** When the first attempt began. */
  readonly started: Date
  /** Seconds since then. */
  readonly runtime: number
  /** Aborted when the operator has no more time for this. */
  readonly signal: AbortSignal
}

/** What every handler of an object is called with. */
export interface ObjectArgs<T, M> extends CommonArgs<M> {
  readonly resource: Resource
  readonly body: Body<T>
  readonly spec: Spec<T>
  readonly status: Status<T>
  readonly meta: Meta
  readonly name: string
  /** Undefined for objects of the cluster. */
  readonly namespace: string | undefined
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
export interface EventArgs<T, M> extends ObjectArgs<T, M> {
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
type SubhandlerFunction<T, M> = (args: ChangeArgs<T, M>) => unknown

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
export type Former<T> = IsSecret<T> extends true ? { [K in keyof T]: OldSecretField<K, T[K]> } : T

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
export interface ChangeArgs<T, M, V = BodyEssence<T>, O = FormerEssence<T>> extends ObjectArgs<T, M>, RetryArgs {
  readonly reason: HandlerReason
  /** As it was handled last. Of Secrets, the values are concealed: `ConcealedValue`. */
  readonly old: O | undefined
  /** As it is. */
  readonly new: V | undefined
  /** What differs between them. The old values of Secrets are concealed, as in `old`. */
  readonly diff: Diff
  /** Declares a sub-handler, whose progress is kept apart; run by `execute()`, or when this handler returns. */
  readonly subhandler: {
    (id: string, fn: SubhandlerFunction<T, M>): void
    (id: string, options: SubhandlerOptions<T, M>, fn: SubhandlerFunction<T, M>): void
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
    fns?: Readonly<Record<K, SubhandlerFunction<T, M>>> | readonly SubhandlerFunction<T, M>[],
    options?: ExecuteOptions,
  ) => Promise<SubhandlerOutcomes<K>>
  /**
   * Runs the function once, and remembers what it has come to until this handler has finished: across retries, restarts and
   * crashes. The result is kept on the object, as JSON: no secrets.
   */
  readonly step: Step
}

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
export interface DaemonArgs<T, M> extends ObjectArgs<T, M>, RetryArgs {
  readonly stopped: Stopped
}

/** What timers are called with. */
export interface TimerArgs<T, M> extends ObjectArgs<T, M>, RetryArgs {
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
export interface ReconcileArgs<T, M, O extends ResourceLike = ResourceLike> extends ObjectArgs<T, M>, RetryArgs {
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
   * Whether an object that already exists under the name of a child is taken over: written by force, owned, and deleted with its owner.
   * Default: false, since the author of the parent chooses that name. An object that another one controls is never taken over.
   */
  readonly adopt?: boolean
}

/** What is found goes into the index; the object itself is not changed here. */
export interface IndexArgs<T, M> extends Omit<ObjectArgs<T, M>, 'patch' | 'conditions'>, RetryArgs {}

/** Who made the request, as the API server says. */
export interface UserInfo {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Of an object that is created with `generateName` there is no name yet, and no uid of one that is created. */
export interface AdmissionArgs<T, M> extends Omit<ObjectArgs<T, M>, 'name' | 'uid' | 'conditions'>, RetryArgs {
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
export interface ActivityArgs<M> extends CommonArgs<M>, RetryArgs {
  readonly settings: Settings
}

/** Which arguments each kind of handler is called with: the one table. */
export interface ArgsOf<T, M> {
  create: ChangeArgs<T, M>
  resume: ChangeArgs<T, M>
  update: ChangeArgs<T, M>
  delete: ChangeArgs<T, M>
  event: EventArgs<T, M>
  index: IndexArgs<T, M>
  daemon: DaemonArgs<T, M>
  timer: TimerArgs<T, M>
  reconcile: ReconcileArgs<T, M>
  validate: AdmissionArgs<T, M>
  mutate: AdmissionArgs<T, M>
}

export type Kind = keyof ArgsOf<OpenObject, object>

/** The arguments of a handler that is declared on its own: `Args<'create', typeof Database>`. */
export type Args<K extends Kind, R extends ResourceLike, M = Record<string, unknown>> = ArgsOf<ObjectOf<R>, M>[K]

/** What filters see: no attempt is under way yet. */
type FilterArgs<A> = Omit<
  A,
  | keyof RetryArgs
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

type Filtered<A> = NamedOptions & FilterOptions<FilterArgs<A>>
type Compared<A> = CompareOptions<FilterArgs<A>>

type SubhandlerOptions<T, M> = Omit<Filtered<ChangeArgs<T, M>>, 'id'> & RetryOptions & Compared<ChangeArgs<T, M>>

/** The options of each kind, by its arguments. */
export interface OptionsOf<A> {
  create: Filtered<A> & RetryOptions
  resume: Filtered<A> &
    RetryOptions & {
      /** Also for objects that are being deleted. Default: false. */
      readonly deleted?: boolean
    }
  update: Filtered<A> & RetryOptions & Compared<A>
  delete: Filtered<A> &
    RetryOptions & {
      /** Nice to have: the object may go without it, so no finalizer is put on for it. Default: false. */
      readonly optional?: boolean
    }
  event: Filtered<A>
  index: Filtered<A> & RetryOptions
  daemon: Filtered<A> & RetryOptions & BackgroundOptions<FilterArgs<A>> & CancellationOptions
  timer: Filtered<A> & RetryOptions & BackgroundOptions<FilterArgs<A>> & RhythmOptions
  reconcile: Filtered<A> & RetryOptions & ReconcilingOptions<readonly ResourceLike[], readonly ResourceLike[]>
  validate: Filtered<A> & AdmissionOptions
  mutate: Filtered<A> & AdmissionOptions
}

/** As those of the table, with the kinds that it owns and watches. */
export type ReconcileOptions<A, O extends readonly ResourceLike[], W extends readonly ResourceLike[]> = Filtered<A> &
  RetryOptions &
  ReconcilingOptions<O, W>

export interface ConvertOptions<From, To> extends NamedOptions {
  /** The version, such as `v1`; or the definition of the resource in that version, for its types. */
  readonly from: From
  readonly to: To
}

export type FieldOptions<A> = Omit<Filtered<A>, 'field'> & RetryOptions & Compared<A>

export type ActivityOptions = NamedOptions & RetryOptions

/** The value at a dotted path: worked out for the literal given, never as a union of all paths (Pods have thousands). */
export type Get<T, P extends string> = P extends `${infer H}.${infer Rest}`
  ? H extends keyof NonNullable<T>
    ? Get<NonNullable<T>[H], Rest>
    : unknown
  : P extends keyof NonNullable<T>
    ? NonNullable<T>[P]
    : unknown
