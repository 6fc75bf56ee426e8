/**
 * The record every handler is, whatever its kind. Shared code asks it what it needs; it never asks for the kind.
 * Made by create-handler.ts, kept by registry.ts.
 */

import type { HandlerReason } from '../causation/cause.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import type { IndexTable } from './index-table.ts'

/**
 * What an arbitrary error of a handler means: it is ignored, the handler is called again, or it has failed for good.
 */
export type ErrorsMode = 'ignored' | 'temporary' | 'permanent'

/** A dotted string, or the keys one by one where a key has dots in it. */
export type FieldPath = string | readonly string[]

/** Any user function; its arguments are put together in args.ts, its call is in invoke.ts. */
export type HandlerFunction = (args: never) => unknown

/** A value to be equal to, PRESENT, ABSENT, or a callback that gets the value and all arguments. */
export type ValuePattern = unknown

/** When a timer is called; daemons have none of it: they are called once. */
interface TimerSchedule {
  /** From the end of one call to the beginning of the next; `sharp`: from beginning to beginning. */
  readonly intervalMs: number | undefined
  readonly sharp: boolean
  /** How long the object must have been as it is. */
  readonly idleMs: number | undefined
}

/** How one that is told to stop is made to; undefined for what is not limited, or as the settings say. */
interface Cancellation {
  readonly backoffMs: number | undefined
  readonly timeoutMs: number | undefined
  readonly pollingMs: number | undefined
}

/** What runs beside an object for as long as it is there. */
export interface BackgroundOptionsOf {
  /** In milliseconds; or a function that answers with a duration. */
  readonly initialDelay: number | ((args: never) => unknown)
  readonly schedule: TimerSchedule | undefined
  readonly cancellation: Cancellation
}

/** What a request to the API server wants to do to an object. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** Of which requests to the API server a handler is asked, and what the API server may expect of it. */
export interface AdmissionSpec {
  /** Undefined for all. */
  readonly operations: readonly AdmissionOperation[] | undefined
  /** Undefined for the object itself; `*` for it and all its subresources. */
  readonly subresource: string | undefined
  readonly persistent: boolean
  readonly sideEffects: boolean
  readonly ignoreFailures: boolean
}

/** Between which versions of a resource a handler converts. */
export interface ConversionSpec {
  readonly from: string
  readonly to: string
}

/** Objects that are not children and yet concern some of the objects that are reconciled. */
export interface Watch {
  readonly selector: ResourceSelector
  /** Answers with those whom the object concerns. */
  readonly ownersOf: (object: never) => unknown
}

/**
 * What to do with an object that exists under the name of a child, and that the operator has not created:
 *
 * - `refuse`: it is left alone, and that is an error: the condition `ChildrenApplied` is `False`, and the reconciler is tried again.
 * - `leave`: it is left alone, and that is fine: the condition `ChildrenApplied` names it and is `True`.
 * - `adopt`: it is taken over: written by force, owned, and deleted with its owner. An object that another one controls is refused.
 */
export type ExistingPolicy = 'refuse' | 'leave' | 'adopt'

/** What else a reconciler is called for, beside its own object. */
export interface ReconcileSpec {
  /** The kinds of its children, each one resource. */
  readonly owns: readonly ResourceSelector[]
  readonly watches: readonly Watch[]
  readonly resyncMs: number | undefined
  /** What to do with objects that exist under the names of its children, unless what it returns says otherwise. */
  readonly existing: ExistingPolicy
}

export interface Handler {
  /** `create`, `event`, …: for messages, and the id of anonymous functions. */
  readonly type: string
  /** Stored on objects; with the field appended where there is one. */
  readonly id: string
  readonly fn: HandlerFunction
  readonly param: unknown

  /** Undefined for activities and sub-handlers: they have no resource of their own. */
  readonly selector: ResourceSelector | undefined
  /** Whether the status of the objects has a place for the generation that was handled, by the definition it is for. */
  readonly observesGeneration: () => boolean

  /** The causes it is for; undefined for all of them (fields, resuming). */
  readonly reasons: ReadonlySet<HandlerReason> | undefined
  /** Only for objects that were there when the operator started and are not yet handled (on.resume). */
  readonly initial: boolean
  /** Also for objects that are being deleted (on.resume with `deleted`). */
  readonly deleted: boolean
  /** The object must not go before this was called (on.delete unless `optional`), or while it runs (daemons, timers). */
  readonly needsFinalizer: boolean
  /** Only when its field has changed (on.update and on.field with a field). */
  readonly needsChange: boolean

  /** The keys to the field, or undefined. */
  readonly field: readonly string[] | undefined
  readonly labels: Readonly<Record<string, ValuePattern>> | undefined
  readonly annotations: Readonly<Record<string, ValuePattern>> | undefined
  /** Undefined for unchecked; only with a field. */
  readonly value: ValuePattern
  readonly old: ValuePattern
  readonly new: ValuePattern
  readonly when: ((args: never) => unknown) | undefined

  readonly errors: ErrorsMode
  readonly timeoutMs: number | undefined
  readonly retries: number | undefined
  /** Undefined for `settings.execution.defaultBackoff`. */
  readonly backoffMs: number | undefined

  /** Daemons and timers. */
  readonly background: BackgroundOptionsOf | undefined
  readonly reconciling: ReconcileSpec | undefined
  /** What an indexing function fills. */
  readonly index: IndexTable | undefined
  /** Those that validate and mutate. */
  readonly admission: AdmissionSpec | undefined
  readonly conversion: ConversionSpec | undefined
}
