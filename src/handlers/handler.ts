/**
 * The record of a registered handler: a discriminated union by category. All categories share `HandlerBase`; each adds the parts that
 * its own folder reads. Created by create-handler.ts, kept by registry.ts.
 */

import type { HandlerReason } from '../causation/cause.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import type { HandlerDefinition, HandlerTypeInfo } from './definition.ts'
import type { IndexTable } from './index-table.ts'
import type { AdmissionOperation, ErrorsMode, ExistingPolicy, ValuePattern } from './options.ts'

/** A function of the user. Its arguments are typed in args/args.ts; only invoke.ts calls it. */
export type HandlerFunction = (args: never) => unknown

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
  /** The function of the user. */
  readonly fn: HandlerFunction
  /** The option `param`, passed to the function. */
  readonly param: unknown

  /** The resources of the handler. Undefined for activities and sub-handlers. */
  readonly selector: ResourceSelector | undefined
  /** Whether the resource definition of the handler has `status.observedGeneration`, so that conditions set it. */
  readonly observesGeneration: () => boolean
  /** Whether the object needs the finalizer: for `on.delete` unless `optional`, daemons, timers, and reconcilers with `cleanup`. */
  readonly needsFinalizer: boolean

  /** The keys of the option `field`. */
  readonly field: readonly string[] | undefined
  /** The patterns of the option `labels`. Undefined if there are none. */
  readonly labels: Readonly<Record<string, ValuePattern>> | undefined
  /** The patterns of the option `annotations`. Undefined if there are none. */
  readonly annotations: Readonly<Record<string, ValuePattern>> | undefined
  /** Filters of the field's value, its old value and its new value. Undefined if the value is not checked. */
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
