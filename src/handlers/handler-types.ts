/** The kinds of handlers there are, one row each: what is particular about them, and which options they take. */
import type { HandlerReason } from '../causation/cause.ts'
import type { ErrorsMode } from './handler.ts'

/**
 * Where handlers are kept and called: before all others, with every event, with changes, beside the object, whenever it or
 * what belongs to it is different, when the API server asks before it stores an object or shows it in another version, or
 * with the operator.
 */
export type HandlerCategory =
  | 'index'
  | 'event'
  | 'change'
  | 'background'
  | 'reconcile'
  | 'admission'
  | 'conversion'
  | 'activity'

/** How messages call them, as in Kopf. */
type HandlerTitle = 'Handler' | 'Indexer' | 'Daemon' | 'Timer' | 'Reconciler' | 'Activity'

export interface HandlerTypeInfo {
  readonly category: HandlerCategory
  readonly title: HandlerTitle
  readonly reasons: readonly HandlerReason[] | undefined
  readonly initial: boolean
  readonly needsChange: boolean
  /** Whether the finalizer is put on for it, unless it is `optional`, or `finalizer` is false; or only with `cleanup`. */
  readonly needsFinalizer: boolean | 'cleanup'
  readonly errors: ErrorsMode
  /** How loudly success is told; what is called for every state of every object is not worth a line of it. */
  readonly successLevel: 'info' | 'debug'
  readonly options: readonly string[]
}

const retrying = ['errors', 'timeout', 'retries', 'backoff']
const filtering = ['labels', 'annotations', 'when', 'field', 'value']
const comparing = ['old', 'new']
const common = ['id', 'param']

const changing: HandlerTypeInfo = {
  category: 'change',
  title: 'Handler',
  reasons: undefined,
  initial: false,
  needsChange: false,
  needsFinalizer: false,
  errors: 'temporary',
  successLevel: 'info',
  options: [...common, ...retrying, ...filtering],
}

const background = ['initialDelay', 'finalizer']
const activity: HandlerTypeInfo = {
  ...changing,
  category: 'activity',
  title: 'Activity',
  options: [...common, ...retrying],
}

/** Called with a request that is either let through or not: there is nothing to try again on. */
const admission: HandlerTypeInfo = {
  ...changing,
  category: 'admission',
  errors: 'permanent',
  options: [...common, ...filtering, 'operations', 'subresource', 'persistent', 'sideEffects', 'ignoreFailures'],
}

export type ActivityType = 'startup' | 'cleanup' | 'login' | 'probe'

export type HandlerType =
  | 'create'
  | 'update'
  | 'delete'
  | 'resume'
  | 'field'
  | 'event'
  | 'index'
  | 'daemon'
  | 'timer'
  | 'reconcile'
  | 'validate'
  | 'mutate'
  | 'convert'
  | ActivityType

export const handlerTypes: Readonly<Record<HandlerType | 'subhandler', HandlerTypeInfo>> = {
  create: { ...changing, reasons: ['create'] },
  update: { ...changing, reasons: ['update'], needsChange: true, options: [...changing.options, ...comparing] },
  delete: { ...changing, reasons: ['delete'], needsFinalizer: true, options: [...changing.options, 'optional'] },
  resume: { ...changing, initial: true, options: [...changing.options, 'deleted'] },
  field: {
    ...changing,
    needsChange: true,
    // The field stands before the options.
    options: [...common, ...retrying, 'labels', 'annotations', 'when', 'value', ...comparing],
  },
  subhandler: { ...changing, options: ['param', ...retrying, ...filtering, ...comparing] },
  // Called with what is seen once and for all: there is nothing to try again on.
  event: { ...changing, category: 'event', errors: 'ignored', options: [...common, ...filtering] },
  // A stale index is better than one with holes, unless told otherwise.
  index: { ...changing, category: 'index', title: 'Indexer', errors: 'ignored', successLevel: 'debug' },
  daemon: {
    ...changing,
    category: 'background',
    title: 'Daemon',
    needsFinalizer: true,
    options: [...changing.options, ...background, 'cancellationBackoff', 'cancellationTimeout', 'cancellationPolling'],
  },
  timer: {
    ...changing,
    category: 'background',
    title: 'Timer',
    needsFinalizer: true,
    options: [...changing.options, ...background, 'interval', 'sharp', 'idle'],
  },
  // Called again and again, whether there is anything to do or not: success is what is expected.
  reconcile: {
    ...changing,
    category: 'reconcile',
    title: 'Reconciler',
    needsFinalizer: 'cleanup',
    successLevel: 'debug',
    options: [...changing.options, 'owns', 'watches', 'resync', 'cleanup', 'existing', 'adopt'],
  },
  validate: admission,
  mutate: admission,
  // Called for every object of a list: success is what is expected.
  convert: { ...admission, category: 'conversion', successLevel: 'debug', options: [...common, 'from', 'to'] },
  startup: activity,
  cleanup: activity,
  login: activity,
  probe: activity,
}

/** `Daemon 'ping'`: how logs name it. */
export function titleOf(handler: { readonly type: string; readonly id: string }): string {
  return `${handlerTypeOf(handler)?.title ?? 'Handler'} '${handler.id}'`
}

/** The row of a handler that is registered already; undefined for what other rooms may have put there. */
export function handlerTypeOf(handler: { readonly type: string }): HandlerTypeInfo | undefined {
  return Object.hasOwn(handlerTypes, handler.type) ? handlerTypes[handler.type as HandlerType] : undefined
}
