/** The class `Operator`: handlers are registered on it, and it can be started. registration.ts has the types of the registering methods. */

import { KopfError } from './errors.ts'
import { explainObject, toResource } from './explain/explain.ts'
import type { Explanation, ExplanationOptions } from './explain/explanation.ts'
import { createHandler } from './handler-definitions.ts'
import type { Body, Memo, ObjectHandlerType } from './handlers/args/args.ts'
import { copyMemo } from './handlers/args/memos.ts'
import type { Metrics } from './handlers/args/metrics.ts'
import type { Handler } from './handlers/handler.ts'
import type { ActivityType, HandlerType } from './handlers/handler-types.ts'
import { defaultLifecycle, type Lifecycle } from './handlers/lifecycles.ts'
import type { FieldPath } from './handlers/options.ts'
import { Registry } from './handlers/registry.ts'
import type { KubeObject } from './kube/objects.ts'
import type { Resource, ResourceDefinition, ResourceLike } from './kube/resources/resources.ts'
import { UserMetrics } from './metrics/user-metrics.ts'
import { internalsOf, isOperator, setInternals } from './operator-internals.ts'
import type { On, RegisterDaemon, RegisterIndex, RegisterReconcile, RegisterTimer } from './registration.ts'
import type { RunningOperator, RunOptions } from './run/options.ts'
import { startOperator } from './run/run.ts'
import { createSettings, type PartialSettings, type Settings } from './settings/settings.ts'
import { systemClock } from './util/async/clock.ts'
import { defaultLogSink, toLogSink } from './util/log/log.ts'
import { type LoopGuard, startLoopGuard } from './util/process/loop-guard.ts'
import { secondSignalHint, untilSignal } from './util/process/signals.ts'

export type { RunningOperator, RunOptions }

/** The options of `new Operator()`. All are optional. */
export interface OperatorOptions<M extends object> {
  /**
   * The name of the operator: used in messages, and as the default for the names of the Lease, the field manager and the Secret of steps.
   * Default: none.
   */
  readonly name?: string
  /**
   * Creates the memo: in-memory data for handlers. Every object gets a shallow copy of it as `memo`, or the result of its method
   * `clone()`. Default: an empty object.
   */
  readonly memo?: () => M & {
    /** Returns the memo of one object. Default: a shallow copy; return `this` to share one memo among all objects. */
    clone?(): M
  }
  /** Settings by group: `{ queueing: { workerLimit: 10 } }`. Default: all settings have their defaults. */
  readonly settings?: PartialSettings
  /** Selects which of the due handlers are called next. Default: all of them, in the order of registration (`lifecycles.allAtOnce`). */
  readonly lifecycle?: Lifecycle
}

/**
 * A function that adds handlers or settings to an operator, for `operator.use()`.
 *
 * @example
 * ```ts
 * const audit: Plugin<object> = (kopf) => {
 *   kopf.on.event('pods', ({ event, name, logger }) => logger.info(`${event.type}: ${name}`))
 * }
 * kopf.use(audit)
 * ```
 */
export type Plugin<M extends object> = (operator: Operator<M>) => void

/**
 * An operator: register handlers on it, then call `run()` or `start()`.
 *
 * @example
 * ```ts
 * const kopf = new Operator()
 * kopf.on.create('kopfexamples', ({ name, logger }) => logger.info(`Hello, ${name}`))
 * await kopf.run()
 * ```
 */
export class Operator<M extends object = Memo> {
  /** The name from the options of the constructor. Undefined if none was given. */
  readonly name: string | undefined
  /** Registers handlers: `kopf.on.create(…)`, `kopf.on.update(…)`, `kopf.on.startup(…)` and so on. */
  readonly on: On<M>
  /** Registers a daemon: a long-running function that is started for each object and stopped when the object is deleted. */
  readonly daemon: RegisterDaemon<M>
  /** Registers a timer: a function that is called repeatedly for each object. */
  readonly timer: RegisterTimer<M>
  /** Registers a reconciler: a function that is called for every change, and returns the desired children of the object. */
  readonly reconcile: RegisterReconcile<M>
  /** Registers an indexing function and returns the index: an in-memory map of all objects of a resource, by keys of your choice. */
  readonly index: RegisterIndex<M>
  /** The settings. Change them before the operator starts, or in a startup handler. */
  readonly settings: Settings
  readonly #registry = new Registry()
  readonly #definitions = new Set<ResourceDefinition<object>>()
  readonly #memo: () => M
  readonly #lifecycle: Lifecycle
  readonly #merged = new Set<object>()
  readonly #metrics = new UserMetrics()

  /** Creates an operator without handlers. */
  constructor(options: OperatorOptions<M> = {}) {
    this.name = options.name
    this.settings = createSettings(options.settings)
    this.#memo = options.memo ?? (() => ({}) as M)
    this.#lifecycle = options.lifecycle ?? defaultLifecycle
    const { name, settings } = this
    setInternals(this, { name, registry: this.#registry, settings, createMemo: () => this.#memo() })
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
    this.reconcile = this.#register('reconcile')
    this.index = this.#registerIndex()
  }

  /**
   * Your own counters, gauges and histograms: the same as the argument `metrics` of handlers. All runs of the operator share them.
   *
   * @example
   * ```ts
   * const orders = kopf.metrics.counter('orders_total', { help: 'Orders by kind.', labels: ['kind'] })
   * kopf.on.create(Order, ({ spec }) => orders.add(1, { kind: spec.kind }))
   * ```
   */
  get metrics(): Metrics {
    return this.#metrics
  }

  /** The resource definitions (made with `defineResource`) that handlers are registered for. */
  get resources(): readonly ResourceDefinition<object>[] {
    return [...this.#definitions]
  }

  /**
   * Adds the handlers of another operator to this one, or calls a plugin with this operator. Returns this operator. Adding the same
   * operator twice has no effect.
   *
   * @example
   * ```ts
   * import databases from './databases.ts'
   * kopf.use(databases).use((operator) => operator.on.event('pods', handler))
   * ```
   */
  // biome-ignore lint/suspicious/noExplicitAny: an operator with any memo can be merged; its handlers get the memo of this one.
  use(other: Operator<any> | Plugin<M>): this {
    if (isOperator(other)) {
      if ((other as object) === this || this.#merged.has(other)) return this
      this.#merged.add(other)
      this.#registry.merge(internalsOf(other).registry)
      for (const definition of other.resources) this.#definitions.add(definition)
    } else if (typeof other === 'function') {
      other(this)
    } else {
      throw new KopfError('KOPF_PLUGIN', 'Cannot use what is neither an operator nor a function of one')
    }
    return this
  }

  /**
   * Starts the operator in the background. Resolves when the startup handlers have succeeded and the cluster is connected.
   *
   * @example
   * ```ts
   * await using running = await kopf.start()
   * await running.ready
   * ```
   */
  start(options: RunOptions = {}): Promise<RunningOperator> {
    const definition = {
      name: this.name,
      registry: this.#registry,
      settings: this.settings,
      lifecycle: this.#lifecycle,
      memo: this.#memo(),
      metrics: this.#metrics,
    }
    return startOperator(definition, options)
  }

  /**
   * Explains what the operator has stored on an object, and why each handler would be called for it or not. Calls filters, but no handlers, and
   * sends no requests. The command `kopf explain` prints the result. With `children`, it also says what has become of the children of reconcilers.
   *
   * @example
   * ```ts
   * const { decision, handlers } = kopf.explain('databases.example.com', body)
   * ```
   */
  explain(
    resource: ResourceLike | Resource,
    body: Body<Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>>,
    { children }: ExplanationOptions = {},
  ): Explanation {
    return explainObject({
      name: this.name,
      children,
      registry: this.#registry,
      settings: this.settings,
      resource: toResource(resource, body as KubeObject),
      body: body as KubeObject,
      memo: () => copyMemo(this.#memo()),
      nowMs: systemClock.now(),
    })
  }

  /**
   * Starts the operator and runs it until the process receives SIGINT or SIGTERM. Rejects if the operator fails.
   *
   * @example
   * ```ts
   * await kopf.run({ namespaces: ['default'] })
   * ```
   */
  async run(options: RunOptions = {}): Promise<void> {
    const ended = new AbortController()
    const stopped = untilSignal({ until: ended.signal })
    using _guard = this.settings.process.guard ? this.#startGuard(options) : undefined
    try {
      const stopHint = options.stopHint ?? secondSignalHint()
      await using running = await this.start({ ...options, ...(stopHint !== undefined && { stopHint }) })
      await Promise.race([stopped, running.done])
    } finally {
      ended.abort()
    }
  }

  /** Without a time limit: only a second signal ends the process while a handler blocks the event loop. */
  #startGuard({ logging = defaultLogSink() }: RunOptions): LoopGuard {
    return startLoopGuard({ sink: toLogSink(logging), limitMs: () => undefined })
  }

  /** The function behind `on.create` and so on. The options, between the resource and the handler, can be omitted. */
  #register(type: HandlerType & ObjectHandlerType): (resource: ResourceLike, ...args: readonly unknown[]) => void {
    return (resource, ...args) => {
      const [options, fn] = args.length > 1 ? args : [undefined, args[0]]
      this.#add(type, resource, [options, fn])
    }
  }

  #registerConvert(): On<M>['convert'] {
    return (resource, options, fn) => {
      this.#add('convert', resource, [options, fn])
      for (const version of [options.from, options.to] as const) {
        if (isDefinition(version)) this.#definitions.add(version)
      }
    }
  }

  #registerField(): (resource: ResourceLike, field: unknown, ...args: readonly unknown[]) => void {
    return (resource, field, ...args) => {
      const [options, fn] = args.length > 1 ? args : [undefined, args[0]]
      this.#add('field', resource, [options, fn], field as FieldPath)
    }
  }

  #registerIndex(): RegisterIndex<M> {
    return ((resource: ResourceLike, ...args: readonly unknown[]) => {
      const [options, fn] = args.length > 1 ? args : [undefined, args[0]]
      const handler = this.#add('index', resource, [options, fn])
      return handler.category === 'index' ? handler.index : undefined
    }) as RegisterIndex<M>
  }

  #registerActivity(type: ActivityType): (...args: readonly unknown[]) => void {
    return (...args) => {
      const [options, fn] = args.length > 1 ? args : [undefined, args[0]]
      this.#registry.add(createHandler(type, undefined, options as object | undefined, fn))
    }
  }

  #add(
    type: HandlerType,
    resource: ResourceLike,
    [options, fn]: readonly [unknown, unknown],
    field?: FieldPath,
  ): Handler {
    const handler = this.#registry.add(createHandler(type, resource, options as object | undefined, fn, field))
    if (isDefinition(resource)) this.#definitions.add(resource)
    return handler
  }
}

function isDefinition(resource: unknown): resource is ResourceDefinition<object> {
  return typeof resource === 'object' && resource !== null && 'selector' in resource && 'shortNames' in resource
}
