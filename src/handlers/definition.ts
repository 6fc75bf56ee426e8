/**
 * The definition of a handler category: everything that shared code needs to know about its handlers. Each category defines itself in its own
 * folder; src/handler-definitions.ts lists the definitions. The registry, `kopf explain`, the RBAC rules, the testing kit and the reference
 * read them instead of comparing categories.
 */

import type { RequiredRule } from '../kube/rbac-rules.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { ResourceSelector } from '../kube/resources/selectors.ts'
import type { HandlerBase, HandlerCategory, HandlerOf } from './handler.ts'
import type { HandlerType, HandlerTypes } from './handler-types.ts'
import type { ErrorsMode, Options } from './options.ts'
import type { Outcome } from './outcomes.ts'

/** The handlers of one type. */
export type HandlerOfType<T extends HandlerType> = HandlerOf<HandlerTypes[T]>

/** One handler type of a category. */
export interface HandlerTypeInfo {
  /** The subject of log lines, as in Kopf. */
  readonly title: 'Handler' | 'Indexer' | 'Daemon' | 'Timer' | 'Reconciler' | 'Activity'
  /** The names of the options that a user can give. */
  readonly options: readonly string[]
  /** The default of the option `errors`. */
  readonly errors: ErrorsMode
  /** The log level of "succeeded". Handlers that are called for every state of every object log it at `debug`. */
  readonly successLevel: 'info' | 'debug'
}

/** The arguments of one call that callHandler() creates. Other arguments come from the feature. */
export type CallArgument = 'retry' | 'started' | 'runtime' | 'patch' | 'conditions' | 'subhandler' | 'execute' | 'step'

/** A registration as the user wrote it, with checked option names. */
export interface Registration {
  readonly type: string
  readonly options: Options
  /** The subject of error messages: `a "timer" handler for pods`. */
  readonly subject: string
}

/** The facts about an object from which `kopf explain` tells when a handler is called. */
export interface ExplainedState {
  readonly deleting: boolean
  readonly hasFinalizer: boolean
}

/** Whether and when a handler is called for an object, and why. */
export interface CallForecast {
  readonly verdict: 'now' | 'later' | 'runs' | 'done' | 'no' | 'unclear'
  readonly why: string
}

/** The fields that a category adds to `HandlerBase`. */
export type HandlerParts<C extends HandlerCategory> = Omit<HandlerOf<C>, keyof HandlerBase>

export interface HandlerDefinition<C extends HandlerCategory = HandlerCategory> {
  readonly category: C
  /** The handler types of the category, by name. */
  readonly types: Readonly<Record<string, HandlerTypeInfo>>
  /** Reads the options that only this category has. Throws for values that cannot work. */
  parse(registration: Registration): HandlerParts<C>
  /** Whether the handler needs the finalizer. Default: no. */
  needsFinalizer?(registration: Registration): boolean

  /** Why two functions of one resource cannot share an id, for error messages. Definitions with the same text share their ids. */
  readonly idPurpose: string
  /** The id of a registration, from the given id. Default: `id/field`, or `id` without a field. */
  completeId?(id: string, parts: HandlerParts<C>): string
  /** Whether two handlers of the same id purpose collide. Default: different functions with the same id. */
  isDuplicate?(a: HandlerOf<C>, b: HandlerOf<C>): boolean
  /** Whether a later handler with the same id gets a number instead of an error. Default: no. */
  numbersIds?(handler: HandlerOf<C>): boolean

  /** The arguments that callHandler() creates for a call. */
  readonly args: readonly CallArgument[]
  /**
   * Use of the returned value: `status` is written to `status.<id>` and must be JSON, `discarded` is not used, `own` is used by the feature.
   */
  readonly result: 'status' | 'discarded' | 'own'
  /** Whether the patch of a call is written. Default: yes, if the call gets one. */
  keepsPatch?(handler: HandlerOf<C>, outcome: Outcome): boolean

  /** Whether the API server calls the handlers: their resources need not be watched. */
  readonly isWebhook: boolean
  /** Whether the field of a handler counts as a part of the object's essence, even if it is in `status`. */
  readonly hasEssentialField: boolean
  /** Resources that are watched besides the handler's own. Default: none. */
  relatedSelectors?(handler: HandlerOf<C>): readonly ResourceSelector[]

  /** Whether the operator patches the objects: it needs the permission. */
  readonly patchesObjects: boolean
  /** Additional RBAC rules for the handlers of a resource. Default: none. */
  rules?(handlers: readonly HandlerOf<C>[], resource: Resource): readonly RequiredRule[]
  /** Whether the handler can call `step`, so that the operator needs the signing keys. Default: no. */
  hasSteps?(handler: HandlerOf<C>): boolean

  /** Tells for `kopf explain` when the handler is called. Undefined for change handlers: their progress decides (src/explain). */
  explain?(handler: HandlerOf<C>, state: ExplainedState): CallForecast
}

/** The options of all handlers, by topic. */
export const commonOptions = ['id', 'param'] as const
export const retryOptions = ['errors', 'timeout', 'retries', 'backoff'] as const
export const filterOptions = ['labels', 'annotations', 'when', 'field', 'value'] as const

/** The id purpose of all handlers whose progress is stored on objects. */
export const progressIds = 'progress is stored under the id'

/** The arguments of every attempt that can be retried. */
export const retryArgs = ['retry', 'started', 'runtime'] as const
