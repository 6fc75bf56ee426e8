/**
 * The typed events of a run: everything that happens in an operator is one of them. Listeners are the terminal display, metrics, tests and the
 * observer that a user gives to `start()`. Types only.
 */

import type { Decision } from './causation/decide.ts'
import type { Resource } from './kube/resources/resources.ts'

/** What happened to an object that existed when the operator started. */
export type ObjectOutcome =
  /** The handlers were called and succeeded. */
  | 'created'
  | 'updated'
  | 'resumed'
  | 'deleted'
  | 'reconciled'
  /** A handler failed permanently. */
  | 'failed'
  /** A handler will be retried, or the object could not be processed yet. */
  | 'retrying'
  /** The object has not changed since it was handled. */
  | 'unchanged'
  /** Only event handlers, daemons and timers match the object. */
  | 'watched'
  /** No handler matches the object. */
  | 'skipped'
  /** The object was deleted, or the operator was paused, before it was handled. */
  | 'left'

/** An object in an event of the observer. */
export interface ObservedObject {
  readonly resource: Resource
  readonly name: string
  /** Undefined for cluster-scoped objects. */
  readonly namespace: string | undefined
  readonly uid: string | undefined
}

/** The list and watch of one resource, in one namespace or, if `namespace` is undefined, in the whole cluster. */
export interface ObservedStream {
  readonly resource: Resource
  readonly namespace: string | undefined
}

/** A handler in an event of the observer. */
export interface ObservedHandler {
  readonly id: string
  /** `create`, `timer`, `validate`, … */
  readonly type: string
}

/** One call of a handler. Activities have no object. */
export interface ObservedCall {
  readonly handler: ObservedHandler
  readonly object: ObservedObject | undefined
  /** How many attempts failed before this one. */
  readonly retry: number
}

/**
 * Listens to the events of a run. Every method is optional. Methods are called synchronously, in the middle of the work, with plain data: they
 * must be fast. An error that a method throws is logged and does not disturb the operator. Without a listener an event costs one property read.
 *
 * @example
 * await operator.start({
 *   observer: {
 *     handlerFinished: ({ handler, outcome, durationMs }) => durations.record(durationMs, { handler: handler.id, outcome }),
 *   },
 * })
 */
export interface Observer {
  /** The operator starts, watches objects, stops, or has stopped. */
  phaseChanged?(event: { readonly phase: 'starting' | 'running' | 'stopping' | 'stopped' }): void
  /** The operator reached the API server; `server` is undefined if the operator was started with a transport. */
  connected?(event: { readonly server: string | undefined }): void
  /** Leader election: this replica waits for the first answer, is a candidate, leads, or has lost the Lease. */
  leadershipChanged?(event: { readonly state: 'awaited' | 'candidate' | 'leading' | 'lost' }): void
  /** Another operator with a higher priority runs, or it is gone. `namespace` is undefined for the whole operator. */
  peeringChanged?(event: { readonly namespace: string | undefined; readonly isPaused: boolean }): void

  /** Objects of this resource are watched from now on. `handlerTypes` has one entry per handler. */
  resourceServed?(event: { readonly resource: Resource; readonly handlerTypes: readonly string[] }): void
  /** The watch is open for the first time since the stream started. */
  streamOpened?(event: ObservedStream): void
  /** The watch is open again after a failure. */
  streamResumed?(event: ObservedStream): void
  /** The watch failed and is opened again after `delayMs`; `attempt` counts the failures in a row. */
  streamFailed?(
    event: ObservedStream & { readonly error: Error; readonly delayMs: number; readonly attempt: number },
  ): void
  /** All existing objects were listed; `objects` of the resource are known now, in all namespaces. */
  listed?(event: { readonly resource: Resource; readonly objects: number }): void

  /** The watch or a list brought an event; `type` is null for listed objects. */
  eventReceived?(event: {
    readonly object: ObservedObject
    readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | null
  }): void
  /** The object waits for a worker. Existing objects (`backlog`) wait behind changed ones (`now`). */
  objectQueued?(event: { readonly object: ObservedObject; readonly priority: 'now' | 'backlog' }): void
  /** A worker begins to process the object. */
  processingStarted?(event: { readonly object: ObservedObject }): void
  /** What happens next with the object, and why: the same decision that `kopf explain` prints. */
  decisionMade?(event: { readonly object: ObservedObject; readonly decision: Decision }): void
  /** The worker has finished. `error`: an unexpected error; the object is processed again after a delay. Undefined otherwise. */
  processingFinished?(event: {
    readonly object: ObservedObject
    readonly durationMs: number
    readonly error: unknown
  }): void
  /** An object existed when the operator started, and waits to be handled. */
  objectFound?(event: { readonly resource: Resource }): void
  /** An object that was found is handled; once per found object. */
  objectHandled?(event: { readonly resource: Resource; readonly outcome: ObjectOutcome }): void
  /** The JSON of the object is larger than `settings.watching.maxObjectBytes`: no handler is called. Once, until the object is smaller. */
  objectTooLarge?(event: { readonly object: ObservedObject; readonly bytes: number }): void

  /** A handler is called: each attempt. */
  handlerStarted?(event: ObservedCall): void
  /** The call of a handler has ended. `delayMs`: the time until the next attempt, if the outcome is `retrying`. */
  handlerFinished?(
    event: ObservedCall & {
      readonly outcome: 'succeeded' | 'retrying' | 'failed'
      readonly durationMs: number
      readonly delayMs: number | undefined
      readonly error: unknown
    },
  ): void

  /**
   * A request to the API server ended. `code` is the HTTP status, or undefined if there was no response. `attempt` counts from 1. `path` has no
   * query. Watches are reported when the response starts.
   */
  requestFinished?(event: {
    readonly method: string
    readonly path: string
    readonly code: number | undefined
    readonly attempt: number
    readonly durationMs: number
  }): void
  /** The object was patched. `purpose`: the handling of changes, a checkpoint while a handler runs, a daemon or timer, or a reconciler. */
  patchWritten?(event: {
    readonly object: ObservedObject
    readonly purpose: 'handling' | 'checkpoint' | 'background' | 'reconcile'
    readonly requests: number
  }): void

  /** A daemon or timer is started for the object. */
  daemonStarted?(event: { readonly object: ObservedObject; readonly handler: ObservedHandler }): void
  /** A daemon or timer ended, by itself or on request. */
  daemonStopped?(event: { readonly object: ObservedObject; readonly handler: ObservedHandler }): void
  /** A timer is called. `latenessMs`: how much later than planned. */
  timerFired?(event: {
    readonly object: ObservedObject
    readonly handler: ObservedHandler
    readonly latenessMs: number
  }): void

  /** A child of a reconciled object was created or updated. */
  childApplied?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void
  /** A child of a reconciled object was deleted, because the reconciler does not return it any more. */
  childDeleted?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void
  /** Another manager changes the same fields of a child again and again. */
  contentionFound?(event: { readonly owner: ObservedObject; readonly child: ObservedObject }): void

  /** A review of the API server was answered. */
  reviewAnswered?(event: {
    readonly type: 'admission' | 'conversion'
    /** For admission: whether the request was allowed. */
    readonly allowed: boolean | undefined
    readonly durationMs: number
  }): void
}
