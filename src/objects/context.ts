/**
 * The `Context`: everything that one run shares among all objects (client, settings, queue, features), and helpers that derive loggers and handler arguments
 * from it. Created once by run/bootstrap.ts, before the features.
 */
import type { Client } from '../client/client.ts'
import type { Session } from '../client/session.ts'
import type { Indices, Recorder } from '../handlers/args/args.ts'
import type { HandlerClock } from '../handlers/args/handler-clock.ts'
import type { Metrics } from '../handlers/args/metrics.ts'
import type { ArgsSource } from '../handlers/args/object-args.ts'
import type { Workers } from '../handlers/args/workers.ts'
import type { CallContext, CallWatch } from '../handlers/invoke.ts'
import type { Lifecycle } from '../handlers/lifecycles.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { ObservedObject, Observer } from '../observer.ts'
import type { KeyedQueue } from '../queueing/keyed-queue.ts'
import type { Settings } from '../settings/settings.ts'
import type { StepKeys } from '../steps/step-keys.ts'
import type { Clock } from '../util/async/clock.ts'
import type { TimerQueue } from '../util/async/timer-queue.ts'
import { createLogger, type Logger, type LogSink } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import type { SpanSubject, Tracing } from '../util/tracing/spans.ts'
import type { Pause } from '../watching/pause.ts'

import type { CatchUp } from './catch-up.ts'
import type { ObjectFeatures } from './features.ts'
import type { LargeObjects } from './large-objects.ts'
import type { CallOutcomes } from './processing-run.ts'
import type { ServedResources } from './state/served-resource.ts'
import type { DeletionReport, WatchedObject } from './state/watched-object.ts'

/** An entry in the queue of an object: a new state from the watch, a deletion, or a wake-up by a timer or a feature. */
export type ObjectEvent =
  | {
      readonly type: 'seen'
      readonly event: null | 'ADDED' | 'MODIFIED'
      readonly object: KubeObject
      /** Event handlers see every state: a later state does not replace this one in the queue. */
      readonly isKept: boolean
    }
  | ({ readonly type: 'deleted' } & DeletionReport)
  | { readonly type: 'wake' }

/** The state of leader election that the watch and the queue need. Implemented by election/. */
export interface LeaderStatus {
  /** Another replica is the leader: this one follows the watch and calls no handlers. */
  readonly isCandidate: boolean
  /** The resourceVersion at which this replica took the leadership over from another one; undefined if it did not. */
  readonly tookOverAt: string | undefined
}

export interface Context {
  readonly session: Session
  readonly settings: Settings
  readonly clock: Clock
  readonly random: () => number
  readonly sink: LogSink
  readonly logger: Logger
  readonly lifecycle: Lifecycle
  readonly callWatchOf: (object: WatchedObject) => CallWatch
  readonly queue: KeyedQueue<WatchedObject, ObjectEvent>
  /** Puts a wake-up into the queue of an object after a delay. */
  readonly timers: TimerQueue<WatchedObject>
  /** Has only the methods that some listener has: an event without a listener costs one property read. */
  readonly observer: Observer | undefined
  /** Without a tracer provider in the process, a use costs one property read. */
  readonly tracing: Tracing
  readonly catchUp: CatchUp | undefined
  readonly features: ObjectFeatures
  readonly served: ServedResources
  /** The objects that a worker processes now, with the outcomes of their handlers. Empty if no listener needs them. */
  readonly callOutcomes: Map<WatchedObject, CallOutcomes>
  readonly pause: Pause
  readonly leadership: LeaderStatus
  /** Aborted when the operator starts to stop: no handler is started after that. */
  readonly stopping: AbortSignal
  /** Aborted when the time for running handlers is over. */
  readonly handlersSignal: AbortSignal
  /** Aborted when the time for the last writes is over. */
  readonly writesSignal: AbortSignal
  readonly clientFor: (namespace: string | undefined) => Client
  readonly recorderFor: (body: KubeObject) => Recorder
  readonly createMemo: () => object
  readonly indices: Indices
  /** The argument `metrics` of handlers. */
  readonly metrics: Metrics
  readonly handlerClock: HandlerClock
  /** The clock in the arguments of daemons, whose calls may last as long as the object. */
  readonly daemonClock: HandlerClock
  readonly workers: Workers
  /** Signs the results of steps. */
  readonly stepKeys: StepKeys
  /** Limits the memory of large objects that are parsed at the same time. */
  readonly largeObjects: LargeObjects
  /** Logs a message once per resource and topic. */
  readonly warnOnce: (resource: Resource, topic: string, message: string) => void
}

/** Creates the logger of an object. With `isLocal`, its lines are not posted as Kubernetes events. */
export function objectLogger(
  { sink }: Pick<Context, 'sink'>,
  { apiVersion, kind, metadata }: KubeObject,
  { isLocal = false }: { readonly isLocal?: boolean } = {},
): Logger {
  const { name, namespace = null, uid } = metadata
  return createLogger(sink, 'kopf.objects', { object: { apiVersion, kind, name, uid, namespace }, isLocal })
}

/** The object, and everything from which the arguments of its handlers are built. */
export function argsSourceOf(context: Context, object: WatchedObject, logger: Logger): ArgsSource {
  const { body, served } = object
  return {
    resource: served.resource,
    body,
    logger,
    memo: memoOf(context, object),
    client: context.clientFor(body.metadata.namespace),
    recorder: context.recorderFor(body),
    indices: context.indices,
    metrics: context.metrics,
    clock: context.handlerClock,
    workers: context.workers,
  }
}

/** The parts of the run for a call of a handler of this object. */
export function callContextOf(context: Context, object: WatchedObject, logger: Logger): CallContext {
  const calls = context.callOutcomes.get(object)
  return {
    clock: context.clock,
    logger,
    watch: context.callWatchOf(object),
    defaultBackoffMs: toMs(context.settings.execution.defaultBackoff),
    observer: context.observer,
    tracing: context.tracing,
    object: () => observedObject(object),
    onOutcome: calls && ((outcome) => calls.record(outcome)),
  }
}

/** The memo that all handlers of the object share. */
export function memoOf({ createMemo }: Pick<Context, 'createMemo'>, object: WatchedObject): object {
  object.memo ??= createMemo()
  return object.memo
}

/** The object as the events of the observer have it. */
export function observedObject({ served, body }: WatchedObject): ObservedObject {
  return toObserved(served.resource, body)
}

/** The annotation with the trace of the object's author or owner: KEP-5915. Only read, never written. */
const traceparentAnnotation = 'tracing.k8s.io/traceparent'

/** The object as its spans have it. */
export function spanSubject({ served: { resource }, body: { metadata } }: WatchedObject): SpanSubject {
  const { name = '', namespace, uid, annotations } = metadata
  return { resource, name, namespace, uid, traceparent: annotations?.[traceparentAnnotation] }
}

/** An object that may not be watched, as the events of the observer have it. */
export function toObserved(resource: Resource, { metadata }: KubeObject): ObservedObject {
  return { resource, name: metadata.name ?? '', namespace: metadata.namespace, uid: metadata.uid }
}
