/** The operator: a registry of handlers that can be started. The one way to write an operator of any size. */

import { explainObject } from './core/explaining/explain.ts'
import type { Explanation } from './core/explaining/explanation.ts'
import type {
  ActivityArgs,
  ActivityOptions,
  ArgsFor,
  Body,
  ConvertArgs,
  Converted,
  ConvertOptions,
  FieldArgs,
  FieldOptions,
  Kind,
  OptionsOf,
  ReconcileArgs,
  Reconciled,
  ReconcileOptions,
} from './core/handling/args.ts'
import type { CheckedPath } from './core/handling/field-types.ts'
import type { FieldPath, Handler } from './core/handling/handler.ts'
import type { Index } from './core/handling/index-table.ts'
import type { ActivityKind, HandlerKind } from './core/handling/kinds.ts'
import { defaultLifecycle, type Lifecycle } from './core/handling/lifecycles.ts'
import { createHandler } from './core/handling/register.ts'
import { Registry } from './core/handling/registry.ts'
import { createSettings, type PartialSettings, type Settings } from './core/settings.ts'
import { KopfError } from './errors.ts'
import type { KubeObject } from './kube/objects.ts'
import type { NamespaceOf, ObjectOf, Resource, ResourceDefinition, ResourceLike } from './kube/resources.ts'
import { copyMemo } from './running/memos.ts'
import { type Grant, type NeedsPlan, type PlannedRole, type PlanOptions, planNeeds } from './running/plan-needs.ts'
import { startOperator } from './running/run.ts'
import type { ObjectOutcome, RunObserver } from './running/run-observer.ts'
import type { LoginAnswer, RunningOperator, RunOptions } from './running/run-options.ts'
import { systemClock } from './util/clock.ts'
import { defaultLogSink, toLogSink } from './util/log.ts'
import { type LoopGuard, startLoopGuard } from './util/loop-guard.ts'
import { untilSignal } from './util/signals.ts'

export type { Grant, NeedsPlan, ObjectOutcome, PlannedRole, PlanOptions, RunningOperator, RunObserver, RunOptions }

/** A handler: gets one object to destructure; may be asynchronous; what it returns goes to `status.<id>`. */
export type HandlerFn<A> = (args: A) => unknown

/** Registers a handler of one kind: with or without options, between the resource and the function. */
export interface Register<K extends Kind, M> {
  <const R extends ResourceLike>(resource: R, handler: HandlerFn<ArgsFor<K, R, M>>): void
  <const R extends ResourceLike, const P extends FieldPath = FieldPath>(
    resource: R,
    options: OptionsOf<ArgsFor<K, R, M>, ObjectOf<R>, P>[K],
    handler: HandlerFn<ArgsFor<K, R, M>>,
  ): void
}

/** Registers a handler of one field; its `old` and `new` are typed by the path. */
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

/** As `Register`, for kinds that cannot do without options. */
export type RegisterWithOptions<K extends Kind, M> = <
  const R extends ResourceLike,
  const P extends FieldPath = FieldPath,
>(
  resource: R,
  options: OptionsOf<ArgsFor<K, R, M>, ObjectOf<R>, P>[K],
  handler: HandlerFn<ArgsFor<K, R, M>>,
) => void

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return is one that returns nothing.
type ReconcileFn<A> = (args: A) => Reconciled | void | PromiseLike<Reconciled | void>

/** Registers a reconciler; its `children` are typed by `owns`. */
export interface RegisterReconcile<M> {
  <const R extends ResourceLike>(
    resource: R,
    handler: ReconcileFn<ReconcileArgs<ObjectOf<R>, M, never, NamespaceOf<R>>>,
  ): void
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

/** What an indexing function answers with keys; undefined and null leave what there is. */
type Pairs<K, V> = Iterable<readonly [K, V]> | null | undefined

type IndexFn<R extends ResourceLike, M, Result> = (args: ArgsFor<'index', R, M>) => Result | PromiseLike<Result>

type IndexOptions<R extends ResourceLike, M, P> = OptionsOf<ArgsFor<'index', R, M>, ObjectOf<R>, P>['index']

/** Written so that the compiler takes `[namespace, name]` for a pair, and a text for any text. */
type Anything = NonNullable<unknown> | [] | null | undefined

/** A plain object is read as its entries; the Kubernetes object itself, or anything else, is one value without a key. */
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

/** Known by these three; in types that make them optional, too. What is open to any key is not meant by them. */
type IsKubeObject<T> = T extends { readonly apiVersion: unknown; readonly kind: unknown; readonly metadata: unknown }
  ? true
  : string extends keyof T
    ? false
    : 'apiVersion' | 'kind' | 'metadata' extends keyof T
      ? true
      : false

/**
 * Declares an index. A `Map`, or pairs, are keys and values; so are the entries of a plain object. Anything else is a value
 * under the key null. None at all takes the object out of the index; undefined leaves it there as it was.
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

/** A version by its name, or by the definition of the resource in that version. */
type VersionLike = string | ResourceDefinition<never> | ResourceDefinition<object>

/** Registers a conversion from one version of a custom resource to another: called when the API server asks for it. */
export type RegisterConvert<M> = <
  const R extends ResourceLike,
  const From extends VersionLike,
  const To extends VersionLike,
>(
  resource: R,
  options: ConvertOptions<From, To>,
  handler: (args: ConvertArgs<ObjectOf<From>, M>) => Converted<ObjectOf<To>> | PromiseLike<Converted<ObjectOf<To>>>,
) => void

/** Registers a handler of the operator's own life, with or without options. */
export interface RegisterActivity<M, Result = unknown> {
  (handler: (args: ActivityArgs<M>) => Result | PromiseLike<Result>): void
  (options: ActivityOptions, handler: (args: ActivityArgs<M>) => Result | PromiseLike<Result>): void
}

/** Registers handlers of what happens to objects, to requests, and to the operator itself. */
export interface On<M> {
  /** Before anything talks to the cluster: where settings are set. */
  readonly startup: RegisterActivity<M>
  /** After everything else has ended. */
  readonly cleanup: RegisterActivity<M>
  /** How to reach the cluster; without any, the service account of the pod, or the kubeconfig. */
  readonly login: RegisterActivity<M, LoginAnswer>
  /** What the liveness endpoint tells, by id. */
  readonly probe: RegisterActivity<M>
  /** A new object, or one seen for the first time. */
  readonly create: Register<'create', M>
  /** An object that was there when the operator started. */
  readonly resume: Register<'resume', M>
  /** A change of what people write: not of status, not of what we store. */
  readonly update: Register<'update', M>
  /** An object that is to go: it stays until this is done. */
  readonly delete: Register<'delete', M>
  /** A change of one field, its coming and its going; also in `status`. */
  readonly field: RegisterField<M>
  /** Every event, as it comes. */
  readonly event: Register<'event', M>
  /** A request to create, change or delete an object, before it is carried out: throw an `AdmissionError` to refuse it. */
  readonly validate: Register<'validate', M>
  /** The same, earlier: `patch` changes the object before it is validated and stored. */
  readonly mutate: Register<'mutate', M>
  /** An object that is asked for in another version than it is stored in. */
  readonly convert: RegisterConvert<M>
}

/** What an operator is made with; all of it has defaults. */
export interface OperatorOptions<M extends object> {
  /** For messages, and of the Lease where `settings.election` does not name one. */
  readonly name?: string
  /** Makes the memo: every object gets a copy of it as `memo`, one level deep, or what its method `clone` returns. */
  readonly memo?: () => M & { clone?(): M }
  readonly settings?: PartialSettings
  /** Which handlers go first; default: all that are due, in the order of registration. */
  readonly lifecycle?: Lifecycle
}

/** A function of the operator that adds to it. */
export type Plugin<M extends object> = (operator: Operator<M>) => void

const brand: unique symbol = Symbol.for('kopf.Operator') as never

/**
 * Handlers, to be started.
 *
 * @example
 * ```ts
 * const kopf = new Operator()
 * kopf.on.create('kopfexamples', ({ name, logger }) => logger.info(`Hello, ${name}`))
 * await kopf.run()
 * ```
 */
export class Operator<M extends object = Record<string, unknown>> {
  /** As it was given. */
  readonly name: string | undefined
  /** Registers handlers, by what they are for. */
  readonly on: On<M>
  /** Runs beside each object, for as long as it is there. */
  readonly daemon: Register<'daemon', M>
  /** Called again and again for each object, or when its changes have settled. */
  readonly timer: RegisterWithOptions<'timer', M>
  /** Called with each object whenever it, or what belongs to it, is different: makes its children be as they should. */
  readonly reconcile: RegisterReconcile<M>
  /** Keeps an overview of all objects in memory, by key. */
  readonly index: RegisterIndex<M>
  /** How it works; to be changed before it starts, or by a startup handler. */
  readonly settings: Settings
  readonly #registry = new Registry()
  readonly #definitions = new Set<ResourceDefinition<object>>()
  readonly #memo: () => M
  readonly #lifecycle: Lifecycle
  readonly #merged = new Set<object>()

  constructor(options: OperatorOptions<M> = {}) {
    this.name = options.name
    this.settings = createSettings(options.settings)
    this.#memo = options.memo ?? (() => ({}) as M)
    this.#lifecycle = options.lifecycle ?? defaultLifecycle
    Object.defineProperty(this, brand, { value: brand })
    this.on = {
      startup: this.#registerActivity('startup'),
      cleanup: this.#registerActivity('cleanup'),
      login: this.#registerActivity('login'),
      probe: this.#registerActivity('probe'),
      create: this.#register('create'),
      resume: this.#register('resume'),
      update: this.#register('update'),
      delete: this.#register('delete'),
      event: this.#register('event'),
      field: this.#registerField(),
      validate: this.#register('validate'),
      mutate: this.#register('mutate'),
      convert: this.#registerConvert(),
    }
    this.daemon = this.#register('daemon')
    this.timer = this.#register('timer')
    this.reconcile = this.#register('reconcile') as RegisterReconcile<M>
    this.index = this.#registerIndex()
  }

  /** Whether nothing is registered. */
  get isEmpty(): boolean {
    return this.#registry.handlers.length === 0
  }

  /** The definitions that handlers are registered for. */
  get resources(): readonly ResourceDefinition<object>[] {
    return [...this.#definitions]
  }

  /**
   * All handlers, in the order of registration.
   *
   * @internal
   */
  get registry(): Registry {
    return this.#registry
  }

  /** A memo as the operator itself has it; objects get copies. */
  createMemo(): M {
    return this.#memo()
  }

  /** Adds the handlers of another operator, or what a plugin does. */
  // biome-ignore lint/suspicious/noExplicitAny: an operator with any memo can be merged; its handlers get ours.
  use(other: Operator<any> | Plugin<M>): this {
    if (isOperator(other)) {
      if ((other as object) === this || this.#merged.has(other)) return this
      this.#merged.add(other)
      this.#registry.merge(other.registry)
      for (const definition of other.resources) this.#definitions.add(definition)
    } else if (typeof other === 'function') {
      other(this)
    } else {
      throw new KopfError('KOPF_PLUGIN', 'Cannot use what is neither an operator nor a function of one')
    }
    return this
  }

  /** Starts it in the background: `await using running = await operator.start()`. */
  start(options: RunOptions = {}): Promise<RunningOperator> {
    const blueprint = {
      name: this.name,
      registry: this.#registry,
      settings: this.settings,
      lifecycle: this.#lifecycle,
      memo: this.createMemo(),
    }
    return startOperator(blueprint, options)
  }

  /** What is stored on an object, and why each handler is called for it or is not. Calls filters, and no handler. */
  explain(resource: Resource, body: Body<Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>>): Explanation {
    return explainObject({
      registry: this.#registry,
      settings: this.settings,
      resource,
      body: body as KubeObject,
      memo: () => copyMemo(this.#memo()),
      nowMs: systemClock.now(),
    })
  }

  /** What it will have to be allowed, by its handlers and its settings as they are now: for whoever grants it. */
  planNeeds(options: PlanOptions): NeedsPlan {
    return planNeeds({ name: this.name, registry: this.#registry, settings: this.settings }, options)
  }

  /** Runs it until the process is told to stop, or it fails. */
  async run(options: RunOptions = {}): Promise<void> {
    const ended = new AbortController()
    const stopped = untilSignal({ until: ended.signal })
    using _guard = this.settings.process.guard ? this.#startGuard(options) : undefined
    try {
      await using running = await this.start(options)
      await Promise.race([stopped, running.done])
    } finally {
      ended.abort()
    }
  }

  /** Ends the process only for a second signal: whether a program waits for a handler is its own matter. */
  #startGuard({ logging = defaultLogSink() }: RunOptions): LoopGuard {
    return startLoopGuard({ sink: toLogSink(logging), limitMs: () => undefined })
  }

  #register<K extends Kind>(kind: K & HandlerKind): Register<K, M> {
    return (resource: ResourceLike, ...rest: readonly unknown[]) => {
      const [options, fn] = rest.length > 1 ? rest : [undefined, rest[0]]
      this.#add(kind, resource, [options, fn])
    }
  }

  #registerConvert(): RegisterConvert<M> {
    return (resource, options, fn) => {
      this.#add('convert', resource, [options, fn])
      for (const version of [options.from, options.to] as const) {
        if (isDefinition(version)) this.#definitions.add(version)
      }
    }
  }

  #registerField(): RegisterField<M> {
    return ((resource: ResourceLike, field: FieldPath, ...rest: readonly unknown[]) => {
      const [options, fn] = rest.length > 1 ? rest : [undefined, rest[0]]
      this.#add('field', resource, [options, fn], field)
    }) as RegisterField<M>
  }

  #registerIndex(): RegisterIndex<M> {
    return ((resource: ResourceLike, ...rest: readonly unknown[]) => {
      const [options, fn] = rest.length > 1 ? rest : [undefined, rest[0]]
      return this.#add('index', resource, [options, fn]).index
    }) as RegisterIndex<M>
  }

  #registerActivity(kind: ActivityKind): RegisterActivity<M> {
    return (...rest: readonly unknown[]) => {
      const [options, fn] = rest.length > 1 ? rest : [undefined, rest[0]]
      this.#registry.add(createHandler(kind, undefined, options as object | undefined, fn))
    }
  }

  #add(
    kind: HandlerKind,
    resource: ResourceLike,
    [options, fn]: readonly [unknown, unknown],
    field?: FieldPath,
  ): Handler {
    const handler = this.#registry.add(createHandler(kind, resource, options as object | undefined, fn, field))
    if (isDefinition(resource)) this.#definitions.add(resource)
    return handler
  }
}

function isDefinition(resource: unknown): resource is ResourceDefinition<object> {
  return typeof resource === 'object' && resource !== null && 'selector' in resource && 'scope' in resource
}

/** By its brand: the command and the user's project may have loaded a copy of this package each. */
export function isOperator(value: unknown): value is Operator {
  return typeof value === 'object' && value !== null && brand in value
}
