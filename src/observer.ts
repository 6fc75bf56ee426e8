/**
 * The typed events of a run. Listeners are the terminal display, metrics, tests and the observer that a user passes to `start()`. Types
 * only: run/observers.ts calls the listeners.
 */

import type { Decision } from './causation/decide.ts'
import type { JsonObject, KubeObject } from './kube/objects.ts'
import type { Resource } from './kube/resources/resources.ts'

/**
 * The outcome of the first handling of an object that existed when the operator started, in `Observer.objectHandled`.
 *
 * - `created`, `updated`, `resumed`, `deleted`, `reconciled`: the handlers were called and succeeded.
 * - `failed`: a handler failed permanently.
 * - `retrying`: a handler will be retried, or the object could not be processed yet.
 * - `unchanged`: the object has not changed since it was handled.
 * - `watched`: only event handlers, daemons and timers match the object.
 * - `skipped`: no handler matches the object.
 * - `left`: the object was deleted, or the operator was paused, before the object was handled.
 */
export type ObjectOutcome =
  | 'created'
  | 'updated'
  | 'resumed'
  | 'deleted'
  | 'reconciled'
  | 'failed'
  | 'retrying'
  | 'unchanged'
  | 'watched'
  | 'skipped'
  | 'left'

/**
 * The purpose of a request to the API server, in `Observer.requestFinished`.
 *
 * - `list`, `watch`: of the streams.
 * - `handling`, `checkpoint`, `background`, `reconcile`: writes of objects, as in `Observer.patchWritten`, and the reads that belong to them.
 * - `children`: of reconcilers.
 * - `event`: Kubernetes events.
 * - `lease`: of the leader election.
 * - `peering`: of the peering.
 * - `discovery`: the resources and the version of the cluster.
 * - `webhooks`: webhook configurations, and the conversion of CRDs.
 * - `review`: reviews of access and of tokens.
 * - `steps`: the Secret that signs the results of steps.
 * - `client`: the argument `client` of handlers.
 * - `other`: everything else.
 */
export type RequestPurpose =
  | 'list'
  | 'watch'
  | 'handling'
  | 'checkpoint'
  | 'background'
  | 'reconcile'
  | 'children'
  | 'event'
  | 'lease'
  | 'peering'
  | 'discovery'
  | 'webhooks'
  | 'review'
  | 'steps'
  | 'client'
  | 'other'

/** An object in an event of the observer. */
export interface ObservedObject {
  /** The resource of the object. */
  readonly resource: Resource
  /** The name of the object. */
  readonly name: string
  /** The namespace of the object. Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  /** The uid of the object. Undefined if the object has none yet. */
  readonly uid: string | undefined
}

/**
 * The result of one processing of an object, in `Observer.processingFinished`.
 *
 * - `success`: nothing is left to do, until the object changes or is due by a schedule.
 * - `error`: a handler has failed, or the framework met an unexpected error.
 * - `requeue`: the object is processed again at once.
 * - `requeue_after`: the object is processed again after a delay, for example since a handler asked for it with a `TemporaryError`.
 */
export type ProcessingResult = 'success' | 'error' | 'requeue' | 'requeue_after'

/** The list and watch of one resource, in an event of the observer. */
export interface ObservedStream {
  /** The watched resource. */
  readonly resource: Resource
  /** The watched namespace. Undefined for the whole cluster. */
  readonly namespace: string | undefined
}

/** A handler in an event of the observer. */
export interface ObservedHandler {
  /** The id of the handler. */
  readonly id: string
  /** The handler type: `create`, `timer`, `validate` and so on. */
  readonly type: string
}

/** One call of a handler, in an event of the observer. */
export interface ObservedCall {
  /** The handler that is called. */
  readonly handler: ObservedHandler
  /** The object that the handler is called for. Undefined for activities. */
  readonly object: ObservedObject | undefined
  /** The number of attempts before this one: 0 at the first attempt. */
  readonly retry: number
}

/** The part of one handler in a patch, in an event of the observer. */
export interface ObservedAuthor {
  /** The merge patch of the handler. */
  readonly merge: JsonObject
  /** Whether the handler has also put functions into `patch.fns`. */
  readonly hasFunctions: boolean
  /** Whether `status.<id>` is the value that the handler has returned. */
  readonly hasResult: boolean
}

/** One review, in an event of the observer. */
export interface ObservedReview {
  /** Whether objects are reviewed or converted. */
  readonly type: 'admission' | 'conversion'
  /** The handler that the path of the review names. Undefined for conversions, and if the webhook server passes no path. */
  readonly handler: ObservedHandler | undefined
}

/**
 * Listens to the events of a run: pass it as `observer` to `start()` or `run()`, for example for metrics or a progress display. Every
 * method is optional. Methods are called synchronously and must be fast. An error that a method throws is logged once and does not affect
 * the operator.
 *
 * @example
 * ```ts
 * await kopf.start({
 *   observer: {
 *     handlerFinished: ({ handler, outcome, durationMs }) => durations.record(durationMs, { handler: handler.id, outcome }),
 *   },
 * })
 * ```
 */
export interface Observer {
  /** Called when the operator starts, runs, stops, or has stopped. */
  phaseChanged?(event: { readonly phase: 'starting' | 'running' | 'stopping' | 'stopped' }): void
  /**
   * Called when the operator has reached the API server. `server` is its address; undefined if the operator was started with a `transport`.
   */
  connected?(event: { readonly server: string | undefined }): void
  /**
   * Called when the state of the leader election changes: this replica waits for the first response about the Lease (`awaited`), is a
   * candidate, leads, or has lost the Lease.
   */
  leadershipChanged?(event: { readonly state: 'awaited' | 'candidate' | 'leading' | 'lost' }): void
  /**
   * Called when the operator pauses for another operator of the peering, or resumes. `namespace` is undefined if that affects the whole
   * operator.
   */
  peeringChanged?(event: { readonly namespace: string | undefined; readonly isPaused: boolean }): void

  /**
   * Called when the operator begins to watch a resource. `handlers` are all handlers of that resource; `handlerTypes` has the type of each.
   */
  resourceServed?(event: {
    readonly resource: Resource
    readonly handlerTypes: readonly string[]
    readonly handlers: readonly ObservedHandler[]
  }): void
  /** Called when a watch is open for the first time. */
  streamOpened?(event: ObservedStream): void
  /** Called when a watch is open again: after a failure, or after the server has closed it. */
  streamResumed?(event: ObservedStream): void
  /** Called when a list or watch has failed. It is opened again after `delayMs`; `attempt` counts the failures in a row. */
  streamFailed?(
    event: ObservedStream & { readonly error: Error; readonly delayMs: number; readonly attempt: number },
  ): void
  /** Called when a watch is over: the operator stops or pauses, or the resource or the namespace is not served any more. */
  streamEnded?(event: ObservedStream): void
  /** Called when data of a watch arrives: changes, or the bookmarks that servers send about once a minute. */
  streamReceived?(event: ObservedStream): void
  /**
   * Called when the existing objects were listed, in one namespace or in the cluster. `objects` is the number of known objects in all
   * namespaces.
   */
  listed?(event: { readonly resource: Resource; readonly objects: number }): void

  /** Called for every event of the watch and for every listed object. `type` is null for listed objects. */
  eventReceived?(event: {
    readonly object: ObservedObject
    readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  }): void
  /**
   * Called when a worker, or the response to a request, has replaced the known state of an object. `before` is undefined for the first state. `event`: the
   * event of the watch; `null` for a listed object, and undefined for a response. `isOwn`: the state is the response to a write of the operator. The states
   * are frozen, and large members of them are parsed when they are read.
   */
  stateObserved?(event: {
    readonly object: ObservedObject
    readonly event: 'ADDED' | 'MODIFIED' | null | undefined
    readonly isOwn: boolean
    readonly before: KubeObject | undefined
    readonly after: KubeObject
  }): void
  /** Called when an object begins to wait for a worker. Listed objects (`backlog`) wait behind changed objects (`now`). */
  objectQueued?(event: { readonly object: ObservedObject; readonly priority: 'now' | 'backlog' }): void
  /**
   * Called when a state of an object arrives that is older than the known one, so that it is dropped: a server lags behind, or a response is
   * late.
   */
  staleStateDropped?(event: { readonly object: ObservedObject }): void
  /**
   * Called when an object has work in the queue and had none before: it waits for a worker, or for the end of its present processing. `isRetry`:
   * there is no new state; a delay is over, or a feature has woken the object.
   */
  workQueued?(event: {
    readonly object: ObservedObject
    readonly priority: 'now' | 'backlog'
    readonly isRetry: boolean
  }): void
  /** Called when waiting work is dropped: the operator stops or pauses, or the object is not watched any more. `priority` as in `workQueued`. */
  workDropped?(event: { readonly object: ObservedObject; readonly priority: 'now' | 'backlog' }): void
  /**
   * Called when a worker begins to process an object. `waitedMs` is the time since `workQueued`, and `priority` is that of `workQueued`.
   */
  processingStarted?(event: {
    readonly object: ObservedObject
    readonly priority: 'now' | 'backlog'
    readonly waitedMs: number
  }): void
  /** Called with the decision on the next action for an object, and its reason. `kopf explain` prints the same decision. */
  decisionMade?(event: { readonly object: ObservedObject; readonly decision: Decision }): void
  /**
   * Called when a worker has processed an object. `object` is the same object as in `processingStarted`. `error` is an unexpected error of the
   * framework, after which the object is processed again; undefined otherwise. `outcome` is that of the change handlers; undefined if none was called
   * or is due. `reconciling` is that of the reconcilers; `waiting`: they wait until all children are listed. `hasFailedPermanently`: a handler will not be called again for this state. `delayMs` is the time until the object is processed
   * again; undefined if that is not planned. `isDeleting`: the object is being deleted and still exists.
   */
  processingFinished?(event: {
    readonly object: ObservedObject
    readonly durationMs: number
    readonly error: unknown
    readonly result: ProcessingResult
    readonly outcome: ObjectOutcome | undefined
    readonly reconciling: ObjectOutcome | 'waiting' | undefined
    readonly hasFailedPermanently: boolean
    readonly delayMs: number | undefined
    readonly isDeleting: boolean
  }): void
  /** Called when the operator forgets an object: it is deleted, or it is not watched any more. */
  objectForgotten?(event: { readonly object: ObservedObject }): void
  /**
   * Called for every object that existed when the operator started, resumed, or became the leader. The object then waits for its first
   * handling.
   */
  objectFound?(event: { readonly resource: Resource }): void
  /** Called once for every found object, when its first handling has ended. */
  objectHandled?(event: { readonly resource: Resource; readonly outcome: ObjectOutcome }): void
  /**
   * Called when the JSON of an object is larger than `settings.watching.maxObjectBytes`, so that no handler is called for it. Not called
   * again until the object was smaller in between.
   */
  objectTooLarge?(event: { readonly object: ObservedObject; readonly bytes: number }): void

  /** Called before each call of a handler. Not called if the `timeout` or the `retries` of the handler are used up: then it is not called any more. */
  handlerStarted?(event: ObservedCall): void
  /**
   * Called after each call of a handler, and when its `timeout` or its `retries` are used up. `delayMs` is the delay before the next attempt if
   * the outcome is `retrying`, and undefined otherwise. `error` is undefined if the handler succeeded; an error that `errors: 'ignored'` ignores
   * is reported with the outcome `succeeded`. `cancelled`: the operator stopped the call, and the attempt does not count. `handler` is the same
   * object as in `handlerStarted` of this call.
   */
  handlerFinished?(
    event: ObservedCall & {
      readonly outcome: 'succeeded' | 'retrying' | 'failed' | 'cancelled'
      readonly durationMs: number
      readonly delayMs: number | undefined
      readonly error: unknown
    },
  ): void

  /**
   * Called when a stop does not wait for a call any longer: its time is over, and its `signal` is aborted. `handlerFinished` follows if the call
   * ends all the same.
   */
  handlerCutOff?(event: { readonly handler: ObservedHandler; readonly object: ObservedObject | undefined }): void

  /**
   * A request to the API server ended. `code` is the HTTP status, or undefined if there was no response. `attempt` counts from 1. `path` has no
   * query. Watches are reported when the response starts. `resource` is undefined if the path belongs to no resource, or if it is not known.
   */
  requestFinished?(event: {
    readonly method: string
    readonly path: string
    readonly purpose: RequestPurpose
    readonly resource: Pick<Resource, 'group' | 'version' | 'plural'> | undefined
    readonly code: number | undefined
    readonly attempt: number
    readonly durationMs: number
  }): void
  /**
   * Called when the operator has patched an object. `purpose`: after change handlers (`handling`), while a handler runs (`checkpoint`), for
   * a daemon or timer (`background`), or for a reconciler (`reconcile`). `requests` is the number of requests.
   * `writes`: the state before and after each successful request. `authors`: which handler has set which fields, by the id of the handler; the other
   * fields are those of the framework.
   */
  patchWritten?(event: {
    readonly object: ObservedObject
    readonly purpose: 'handling' | 'checkpoint' | 'background' | 'reconcile'
    readonly requests: number
    readonly writes: ReadonlyArray<{ readonly before: KubeObject; readonly after: KubeObject }>
    readonly authors: ReadonlyMap<string, ObservedAuthor>
  }): void
  /**
   * Called when the operator has created a Kubernetes Event, or has counted it up. `count`: the number of new occurrences.
   */
  eventPosted?(event: {
    /** The object that the Event is about, which may be of any kind. */
    readonly reference: {
      readonly apiVersion: string
      readonly kind: string
      readonly name: string
      readonly namespace: string | undefined
      readonly uid: string | undefined
    }
    /** `Normal`, `Warning` or `Error`. */
    readonly type: string
    readonly reason: string
    readonly message: string
    readonly count: number
  }): void

  /** Called when a daemon or timer is started for an object, before its `initialDelay`. */
  daemonStarted?(event: { readonly object: ObservedObject; readonly handler: ObservedHandler }): void
  /** Called when a daemon or timer has ended for an object: it returned, failed permanently, or was stopped. */
  daemonStopped?(event: { readonly object: ObservedObject; readonly handler: ObservedHandler }): void
  /** Called when a timer is due and its function is called. `latenessMs` is the delay after the planned time. */
  timerFired?(event: {
    readonly object: ObservedObject
    readonly handler: ObservedHandler
    readonly latenessMs: number
  }): void

  /** Called when the operator has created or updated a child of a reconciled object. */
  childApplied?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void
  /** Called when the operator has deleted a child of a reconciled object. */
  childDeleted?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void
  /** Called when another field manager repeatedly changes the same fields of a child as the operator. */
  contentionFound?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void

  /** Called when an AdmissionReview or a ConversionReview of the API server has arrived. */
  reviewStarted?(event: ObservedReview): void
  /**
   * Called when the operator has responded to an AdmissionReview or a ConversionReview of the API server, or does not respond since the API server
   * has given up. `review` is the same object as in `reviewStarted`.
   */
  reviewAnswered?(event: {
    readonly review: ObservedReview
    readonly type: 'admission' | 'conversion'
    /** The object that the request wants to create, change, delete or connect to. Its name is empty, or ends with `*`, if the API server has not chosen one yet. Undefined for conversions, and for a review that the operator cannot read. */
    readonly object: ObservedObject | undefined
    /** The reviewed state of `object`; for a deletion, the last one. As the API server has sent it: not frozen. */
    readonly body: KubeObject | undefined
    /** `CREATE`, `UPDATE`, `DELETE` or `CONNECT`. Undefined if `object` is. */
    readonly operation: string | undefined
    /** For admission: whether the request was allowed. Undefined for conversions, and if the review has failed. */
    readonly allowed: boolean | undefined
    /** Why the request was denied: the message for the client, at most 2,000 characters. Undefined if it was not denied. */
    readonly message: string | undefined
    /** The handler that has denied the request, or else the handler that the path of the review names. Undefined if there is neither. */
    readonly handler: ObservedHandler | undefined
    /** The HTTP status of the response. Undefined if the API server has not waited for it. */
    readonly code: number | undefined
    readonly durationMs: number
  }): void
}
