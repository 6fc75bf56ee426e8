/**
 * The record of a registered handler: a discriminated union by category. All categories share `HandlerBase`; each adds the parts that
 * its own folder reads. Created by create-handler.ts, kept by registry.ts.
 */

import type { HandlerReason } from '../causation/cause.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import type { HandlerDefinition, HandlerTypeInfo } from './definition.ts'
import type { IndexTable } from './index-table.ts'

/**
 * What an error other than `TemporaryError` and `PermanentError` means: it is ignored, the handler is retried, or the handler has failed
 * permanently.
 */
export type ErrorsMode = 'ignored' | 'temporary' | 'permanent'

/** The path to a field: a dotted string such as `spec.size`, or a list of keys if a key contains a dot. */
export type FieldPath = string | readonly string[]

/** A function of the user. Its arguments are typed in args/args.ts; only invoke.ts calls it. */
export type HandlerFunction = (args: never) => unknown

/** A filter for a value: an equal value, PRESENT, ABSENT, or a callback that gets the value and all arguments. */
export type ValuePattern = unknown

/** The fields that all handlers have, whatever their category. */
export interface HandlerBase {
  /** The definition of the category: shared code asks it instead of comparing categories. */
  readonly definition: HandlerDefinition
  /** The facts about the handler type, from the definition. */
  readonly info: HandlerTypeInfo
  /** The handler type: `create`, `timer`, `validate`, … Sub-handlers have `subhandler`. */
  readonly type: string
  /** The key of the handler's records on objects. Contains the field, if the handler has one. */
  readonly id: string
  readonly fn: HandlerFunction
  readonly param: unknown

  /** The resources of the handler. Undefined for activities and sub-handlers. */
  readonly selector: ResourceSelector | undefined
  /** Whether the resource definition of the handler has `status.observedGeneration`, so that conditions set it. */
  readonly observesGeneration: () => boolean
  /** Whether the object needs the finalizer: for `on.delete` unless `optional`, daemons, timers, and reconcilers with `cleanup`. */
  readonly needsFinalizer: boolean

  /** The keys of the option `field`. */
  readonly field: readonly string[] | undefined
  readonly labels: Readonly<Record<string, ValuePattern>> | undefined
  readonly annotations: Readonly<Record<string, ValuePattern>> | undefined
  /** Filters of the field's value, its old value and its new value. Undefined if the value is not checked. */
  readonly value: ValuePattern
  readonly old: ValuePattern
  readonly new: ValuePattern
  readonly when: ((args: never) => unknown) | undefined

  readonly errors: ErrorsMode
  readonly timeoutMs: number | undefined
  readonly retries: number | undefined
  /** Undefined for `settings.execution.defaultBackoff`. */
  readonly backoffMs: number | undefined
}

/** Called when an object is created, updated, deleted or resumed; sub-handlers too. */
export interface ChangeHandler extends HandlerBase {
  readonly category: 'change'
  /** The reasons for which the handler is called. Undefined for all of them (`on.field`, `on.resume`). */
  readonly reasons: ReadonlySet<HandlerReason> | undefined
  /** Called only for objects that existed when the operator started (`on.resume`). */
  readonly initial: boolean
  /** `on.resume` with `deleted`: called also for objects that are being deleted. */
  readonly deleted: boolean
  /** Called only if its field has changed (`on.update` and `on.field`). */
  readonly needsChange: boolean
}

/** Called for every watch event (`on.event`). */
export interface EventHandler extends HandlerBase {
  readonly category: 'event'
}

/** An indexing function: called for every state of an object, before all other handlers. */
export interface IndexHandler extends HandlerBase {
  readonly category: 'index'
  /** The table that the function fills. Functions with the same id share one. */
  readonly index: IndexTable
}

/** When a timer is called. */
interface TimerSchedule {
  /** From the end of one call to the start of the next; with `sharp`, from start to start. */
  readonly intervalMs: number | undefined
  readonly sharp: boolean
  /** How long the object must not have changed. */
  readonly idleMs: number | undefined
}

/** How a daemon or timer that must stop is cancelled. Undefined: no limit, or the value of the settings. */
interface Cancellation {
  readonly backoffMs: number | undefined
  readonly timeoutMs: number | undefined
  readonly pollingMs: number | undefined
}

/** The parts of daemons and timers. */
export interface BackgroundSpec {
  /** In milliseconds, or a function that returns a duration for an object. */
  readonly initialDelay: number | ((args: never) => unknown)
  /** Undefined for daemons: they are called once. */
  readonly schedule: TimerSchedule | undefined
  readonly cancellation: Cancellation
}

/** A daemon or timer: runs for as long as the object exists and matches the filters. */
export interface BackgroundHandler extends HandlerBase {
  readonly category: 'background'
  readonly background: BackgroundSpec
}

/** A resource that a reconciler watches without owning its objects. */
export interface Watch {
  readonly selector: ResourceSelector
  /** Returns the reconciled objects that the changed object concerns. */
  readonly ownersOf: (object: never) => unknown
}

/**
 * What a reconciler does with an object that has the name of a child and was not created by the operator:
 *
 * - `refuse`: the object is left alone, and that is an error: the condition `ChildrenApplied` is `False`, and the reconciler is retried.
 * - `leave`: the object is left alone, and that is fine: the condition `ChildrenApplied` names it and is `True`.
 * - `adopt`: the operator takes the object over: it is overwritten, owned, and deleted with its owner. An object that has another controller is
 *   refused.
 */
export type ExistingPolicy = 'refuse' | 'leave' | 'adopt'

/** The parts of a reconciler. */
export interface ReconcileSpec {
  /** The resources of the children. */
  readonly owns: readonly ResourceSelector[]
  readonly watches: readonly Watch[]
  readonly resyncMs: number | undefined
  /** The policy for existing objects with the names of children, unless the reconciler returns another one. */
  readonly existing: ExistingPolicy
}

/** Called whenever the object, one of its children or a watched object changes. */
export interface ReconcileHandler extends HandlerBase {
  readonly category: 'reconcile'
  readonly reconciling: ReconcileSpec
}

/** The operation of a request to the API server that is reviewed. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** Which requests an admission handler reviews, and what it promises to the API server. */
interface AdmissionSpec {
  /** Undefined for all operations. */
  readonly operations: readonly AdmissionOperation[] | undefined
  /** Undefined for the object itself; `*` for the object and all its subresources. */
  readonly subresource: string | undefined
  readonly persistent: boolean
  readonly sideEffects: boolean
  readonly ignoreFailures: boolean
}

/** Reviews requests to the API server (`on.validate`, `on.mutate`). */
export interface AdmissionHandler extends HandlerBase {
  readonly category: 'admission'
  readonly admission: AdmissionSpec
}

/** The versions between which a conversion handler converts. */
interface ConversionSpec {
  readonly from: string
  readonly to: string
}

/** Converts objects between the versions of a CRD (`on.convert`). */
export interface ConversionHandler extends HandlerBase {
  readonly category: 'conversion'
  readonly conversion: ConversionSpec
}

/** Called for the operator itself, without an object (`on.startup`, `on.cleanup`, `on.login`, `on.probe`). */
interface ActivityHandler extends HandlerBase {
  readonly category: 'activity'
}

export type Handler =
  | ChangeHandler
  | EventHandler
  | IndexHandler
  | BackgroundHandler
  | ReconcileHandler
  | AdmissionHandler
  | ConversionHandler
  | ActivityHandler

export type HandlerCategory = Handler['category']

/** The handlers of one category. */
export type HandlerOf<C extends HandlerCategory> = Extract<Handler, { readonly category: C }>

/** `Daemon 'ping'`: the subject of log lines about the handler, as in Kopf. */
export function titleOf({ info, id }: Pick<HandlerBase, 'info' | 'id'>): string {
  return `${info.title} '${id}'`
}
