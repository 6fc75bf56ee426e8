/** The kinds of handlers there are, one row each: what is particular about them, and which options they take. */
import type { HandlerReason } from '../causation/causes.ts'
import type { ErrorsMode } from './handler.ts'

/** Where handlers are kept and called: with every event, with changes, or with the operator itself. */
export type Room = 'event' | 'change' | 'activity'

export interface Kind {
  readonly room: Room
  readonly reasons: readonly HandlerReason[] | undefined
  readonly initial: boolean
  readonly needsChange: boolean
  /** Whether the finalizer is put on for it, unless it is `optional`. */
  readonly needsFinalizer: boolean
  readonly errors: ErrorsMode
  readonly options: readonly string[]
}

const retrying = ['errors', 'timeout', 'retries', 'backoff']
const filtering = ['labels', 'annotations', 'when', 'field', 'value']
const comparing = ['old', 'new']
const common = ['id', 'param']

const changing: Kind = {
  room: 'change',
  reasons: undefined,
  initial: false,
  needsChange: false,
  needsFinalizer: false,
  errors: 'temporary',
  options: [...common, ...retrying, ...filtering],
}

const activity: Kind = { ...changing, room: 'activity', options: [...common, ...retrying] }

export type HandlerKind = 'create' | 'update' | 'delete' | 'resume' | 'field' | 'event' | 'startup' | 'cleanup'

export const kinds: Readonly<Record<HandlerKind | 'subhandler', Kind>> = {
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
  event: { ...changing, room: 'event', errors: 'ignored', options: [...common, ...filtering] },
  startup: activity,
  cleanup: activity,
}

/** The row of a handler that is registered already; undefined for what other rooms may have put there. */
export function kindOf(handler: { readonly kind: string }): Kind | undefined {
  return Object.hasOwn(kinds, handler.kind) ? kinds[handler.kind as HandlerKind] : undefined
}
