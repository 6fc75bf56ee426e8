/**
 * The record of a registered handler, the same for all handler types. Shared code reads its properties and never compares the type.
 * create-handler.ts creates it, registry.ts keeps it.
 */

import type { HandlerReason } from '../causation/cause.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import type { IndexTable } from './index-table.ts'

/**
 * The effect of an arbitrary error of a handler. `temporary`: the handler is retried. `permanent`: the handler has failed and is not
 * retried. `ignored`: the error is logged and counts as a success.
 */
export type ErrorsMode = 'ignored' | 'temporary' | 'permanent'

/**
 * The path of a field: a dotted string, `'spec.size'`, or a list of keys if a key contains dots, `['metadata', 'labels',
 * 'example.com/size']`.
 */
export type FieldPath = string | readonly string[]

/** Any handler function of a user. args/ has the types of its arguments; invoke.ts calls it. */
export type HandlerFunction = (args: never) => unknown

/** A literal, PRESENT, ABSENT, or a callback that gets the value and all arguments. */
export type ValuePattern = unknown

/** When a timer is called. Daemons have no schedule. */
interface TimerSchedule {
  /** The time from the end of one call to the beginning of the next. */
  readonly intervalMs: number | undefined
  /** Whether the interval counts from the beginning of a call. */
  readonly sharp: boolean
  /** How long the object must have been unchanged. */
  readonly idleMs: number | undefined
}

/** How a daemon is stopped. */
interface Cancellation {
  /** The time between setting `stopped` and aborting `signal`. */
  readonly backoffMs: number | undefined
  /** The time between aborting `signal` and abandoning the daemon. Undefined: `signal` is not aborted. */
  readonly timeoutMs: number | undefined
  /** How often the log mentions the waiting. Undefined: as in the settings. */
  readonly pollingMs: number | undefined
}

/** The properties of daemons and timers. */
export interface BackgroundOptionsOf {
  /** The delay before the first call in milliseconds, or a function that returns a duration. */
  readonly initialDelay: number | ((args: never) => unknown)
  /** When a timer is called. Undefined for daemons. */
  readonly schedule: TimerSchedule | undefined
  /** How a daemon is stopped. */
  readonly cancellation: Cancellation
}

/** The operation of a request to the API server, in admission handlers. `CONNECT` is for subresources such as `exec`. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** The properties of admission handlers: the requests for which they are called, and their webhook configuration. */
export interface AdmissionSpec {
  /** The operations of the requests. Undefined for all. */
  readonly operations: readonly AdmissionOperation[] | undefined
  /** The subresource of the requests; `*` for the object and all its subresources. Undefined for the object itself. */
  readonly subresource: string | undefined
  /** Whether the webhook stays in the managed configuration when the operator stops. */
  readonly persistent: boolean
  /** Whether the handler has side effects. */
  readonly sideEffects: boolean
  /** Whether the API server allows requests if it cannot reach the webhook. */
  readonly ignoreFailures: boolean
}

/** The versions of a conversion handler. */
export interface ConversionSpec {
  /** The version that the handler converts from. */
  readonly from: string
  /** The version that the handler converts to. */
  readonly to: string
}

/** A watched resource of a reconciler whose objects are not children. */
export interface Watch {
  /** The selector of the watched resource. */
  readonly selector: ResourceSelector
  /** The function of the user that returns which objects to reconcile. */
  readonly ownersOf: (object: never) => unknown
}

/**
 * The policy for an existing object that has the name of a child and that the operator has not created.
 *
 * - `refuse`: the object stays unchanged, and the reconciler is retried. The condition `ChildrenApplied` of the parent is `False`.
 * - `leave`: the object stays unchanged, and the reconciler succeeds. The condition `ChildrenApplied` of the parent is `True` and names the
 *   object.
 * - `adopt`: the operator overwrites the object, becomes its owner, and deletes it with the parent. An object with another controller is
 *   refused.
 */
export type ExistingPolicy = 'refuse' | 'leave' | 'adopt'

/** The properties of reconcilers. */
export interface ReconcileSpec {
  /** The resources of the children. Each selector matches one resource. */
  readonly owns: readonly ResourceSelector[]
  /** The other watched resources. */
  readonly watches: readonly Watch[]
  /** How often the reconciler is called without a change. Undefined: never. */
  readonly resyncMs: number | undefined
  /** The policy for existing objects with the names of children. The result of the reconciler can override it. */
  readonly existing: ExistingPolicy
}

/** A registered handler, as a lifecycle gets it. */
export interface Handler {
  /** The handler type: `create`, `event` and so on. For messages, and the default id of anonymous functions. */
  readonly type: string
  /** The id, with the field appended if there is one. The key of the progress on the objects. */
  readonly id: string
  /** The function of the user. */
  readonly fn: HandlerFunction
  /** The option `param`, passed to the function. */
  readonly param: unknown

  /** The selector of the resource. Undefined for activities and sub-handlers, which have no resource of their own. */
  readonly selector: ResourceSelector | undefined
  /** Whether the schema of the resource has the field `status.observedGeneration`. */
  readonly observesGeneration: () => boolean

  /** The reasons for which the handler is called. Undefined: all (field handlers, on.resume). */
  readonly reasons: ReadonlySet<HandlerReason> | undefined
  /** Whether the handler is called only for objects that existed when the operator started, once each (on.resume). */
  readonly initial: boolean
  /** Whether the handler is also called for objects that are being deleted (on.resume with `deleted`). */
  readonly deleted: boolean
  /** Whether a finalizer holds the object until the handler has succeeded (on.delete unless `optional`) or stopped (daemons, timers). */
  readonly needsFinalizer: boolean
  /** Whether the handler is called only if its field has changed (on.update and on.field with a field). */
  readonly needsChange: boolean

  /** The path of the field in the option `field`. Undefined if there is none. */
  readonly field: readonly string[] | undefined
  /** The patterns of the option `labels`. Undefined if there are none. */
  readonly labels: Readonly<Record<string, ValuePattern>> | undefined
  /** The patterns of the option `annotations`. Undefined if there are none. */
  readonly annotations: Readonly<Record<string, ValuePattern>> | undefined
  /** The pattern for the value of the field. Undefined: any value. */
  readonly value: ValuePattern
  /** The pattern for the old value of the field. Undefined: any value. */
  readonly old: ValuePattern
  /** The pattern for the new value of the field. Undefined: any value. */
  readonly new: ValuePattern
  /** The filter callback of the option `when`. Undefined if there is none. */
  readonly when: ((args: never) => unknown) | undefined

  /** The effect of an arbitrary error. */
  readonly errors: ErrorsMode
  /** The time after the first attempt, after which the handler is not retried. Undefined: no limit. */
  readonly timeoutMs: number | undefined
  /** The maximum number of attempts. Undefined: no limit. */
  readonly retries: number | undefined
  /** The delay before the next attempt after an arbitrary error. Undefined: `settings.execution.defaultBackoff`. */
  readonly backoffMs: number | undefined

  /** The properties of daemons and timers. Undefined for other handler types. */
  readonly background: BackgroundOptionsOf | undefined
  /** The properties of reconcilers. Undefined for other handler types. */
  readonly reconciling: ReconcileSpec | undefined
  /** The table that an indexing function fills. Undefined for other handler types. */
  readonly index: IndexTable | undefined
  /** The properties of admission handlers. Undefined for other handler types. */
  readonly admission: AdmissionSpec | undefined
  /** The versions of a conversion handler. Undefined for other handler types. */
  readonly conversion: ConversionSpec | undefined
}
