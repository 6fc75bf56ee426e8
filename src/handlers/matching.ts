/**
 * Which handlers a situation concerns, and why not the others. Asked for every event and every handler, so that
 * a handler without filters costs a few comparisons and nothing is made that is not asked for. Pure, but for callbacks.
 */

import type { Diff, Essence, HandlerReason, Reason } from '../causation/cause.ts'
import { isSame } from '../causation/diff.ts'
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { resolvePath } from '../util/json/paths.ts'
import { describeError } from '../util/log/describe-error.ts'
import { findPatternMismatch, matchesPattern, PRESENT, toVerdict } from './filters.ts'
import type { Handler, ValuePattern } from './handler.ts'

/** What there is to judge by; made per event. */
export interface MatchContext {
  readonly resource: Resource
  readonly body: KubeObject
  /** What has happened, for change handlers; undefined for those that see every event. */
  readonly reason?: Reason
  /** Whether the object was there when the operator started and has not been handled since. */
  readonly initial?: boolean
  readonly deleting?: boolean
  readonly old?: Essence | undefined
  readonly new?: Essence | undefined
  readonly diff?: Diff
  /** The arguments that callbacks get: made lazily, once. */
  readonly args: () => object
}

/** Why a handler is not concerned, in parts: a sentence is only made of it when somebody reads it. */
type Mismatch =
  | { readonly type: 'reason' | 'initial' | 'deleting' | 'selector' | 'value' | 'unchanged' | 'old' | 'new' | 'when' }
  | { readonly type: 'label' | 'annotation'; readonly key: string }

const mismatches = {
  reason: { type: 'reason' },
  initial: { type: 'initial' },
  deleting: { type: 'deleting' },
  selector: { type: 'selector' },
  value: { type: 'value' },
  unchanged: { type: 'unchanged' },
  old: { type: 'old' },
  new: { type: 'new' },
  when: { type: 'when' },
} as const satisfies Record<string, Mismatch>

/** A sentence on why the handler is not called; undefined where it is. */
export function whyNot(handler: Handler, context: MatchContext): string | undefined {
  const miss = findMismatch(handler, context)
  return miss && explain(miss, handler, context)
}

/**
 * Those to be called, in the order of registration; a function registered twice under one id is called once. A handler that does
 * not match the situation is selected where it matches the other one, if there is any: reviews of updates have two states.
 */
export function selectHandlers(handlers: readonly Handler[], context: MatchContext, other?: MatchContext): Handler[] {
  const selected: Handler[] = []
  let ids: Set<string> | undefined
  for (const handler of handlers) {
    const isMissed = findMismatch(handler, context) !== undefined
    if (isMissed && (other === undefined || findMismatch(handler, other) !== undefined)) continue
    // Sub-handlers may be many: the ids are kept only where looking through all would take longer.
    if (selected.length === fewEnough) ids ??= new Set(selected.map(({ id }) => id))
    if ((ids === undefined || ids.has(handler.id)) && isAmong(selected, handler)) continue
    ids?.add(handler.id)
    selected.push(handler)
  }
  return selected
}

const fewEnough = 8

/** A function registered twice under one id counts as one handler. */
export function isAmong(handlers: readonly Handler[], { id, fn }: Handler): boolean {
  return handlers.some((other) => other.fn === fn && other.id === id)
}

/** Those that a change concerns; none where nothing has happened that handlers are called for. */
export function selectChangeHandlers(handlers: readonly Handler[], context: MatchContext): Handler[] {
  return isHandlerReason(context.reason) ? selectHandlers(handlers, context) : []
}

/**
 * Whether the handler might be called at some time in the life of this object, whatever has happened now.
 * An object that no handler pre-matches is left alone (no annotations, no log); so is its finalizer decided.
 */
export function preMatches(handler: Handler, context: MatchContext): boolean {
  return (findObjectMismatch(handler, context) ?? findWhenMismatch(handler, context)) === undefined
}

/** Whether a filter of the handler looks at the object itself, and not only at what has changed. */
export function looksAtObject({ labels, annotations, when, value, old, new: current }: Handler): boolean {
  if (labels !== undefined || annotations !== undefined || when !== undefined) return true
  return [value, old, current].some((pattern) => typeof pattern === 'function')
}

export function isHandlerReason(reason: Reason | undefined): reason is HandlerReason {
  return reason === 'create' || reason === 'update' || reason === 'delete' || reason === 'resume'
}

/** The order is Kopf's: callbacks can tell, and `when`, which may be dear, comes last. */
function findMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  return (
    findReasonMismatch(handler, context) ??
    findObjectMismatch(handler, context) ??
    findChangeMismatch(handler, context) ??
    findWhenMismatch(handler, context)
  )
}

function findReasonMismatch({ reasons, initial, deleted }: Handler, context: MatchContext): Mismatch | undefined {
  const { reason } = context
  if (reason === undefined) return undefined
  if (!isHandlerReason(reason) || (reasons !== undefined && !reasons.has(reason))) return mismatches.reason
  if (!initial) return undefined
  if (!context.initial) return mismatches.initial
  return context.deleting && !deleted ? mismatches.deleting : undefined
}

function findObjectMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  const { selector, labels, annotations, field } = handler
  if (selector !== undefined && !selector.matches(context.resource)) return mismatches.selector
  if (labels !== undefined) {
    const key = calling(handler, 'labels', context, () =>
      findPatternMismatch(labels, context.body.metadata?.labels, context.args),
    )
    if (key !== undefined) return { type: 'label', key }
  }
  if (annotations !== undefined) {
    const key = calling(handler, 'annotations', context, () =>
      findPatternMismatch(annotations, context.body.metadata?.annotations, context.args),
    )
    if (key !== undefined) return { type: 'annotation', key }
  }
  return field !== undefined && !matchesValue(handler, context, field) ? mismatches.value : undefined
}

/**
 * For changes it is enough that one of the new and the old value matches, so that leaving a state is seen like
 * entering it. So ABSENT matches every creation: before it, there was nothing (as in Kopf).
 */
function matchesValue(handler: Handler, context: MatchContext, field: readonly string[]): boolean {
  const pattern = handler.value === undefined ? PRESENT : handler.value
  return calling(handler, 'value', context, () => {
    if (context.reason === undefined) {
      return matchesPattern(pattern, resolvePath(context.body, field), context.args)
    }
    return (
      matchesPattern(pattern, resolvePath(context.new, field), context.args) ||
      matchesPattern(pattern, resolvePath(context.old, field), context.args)
    )
  })
}

/**
 * A field has changed where the diff has an item for it. Kopf compares with `!=` here, which tells null from absent, and its diff does
 * not: its handlers get an empty diff then.
 */
function findChangeMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  const { field } = handler
  if (field === undefined || context.reason === undefined) return undefined
  const old = resolvePath(context.old, field)
  const now = resolvePath(context.new, field)
  if (handler.needsChange && isSame(old, now)) return mismatches.unchanged
  if (!matchesSide(handler, context, 'old', old)) return mismatches.old
  return matchesSide(handler, context, 'new', now) ? undefined : mismatches.new
}

function matchesSide(handler: Handler, context: MatchContext, side: 'old' | 'new', value: unknown): boolean {
  const pattern: ValuePattern = handler[side]
  if (pattern === undefined) return true
  return calling(handler, side, context, () => matchesPattern(pattern, value, context.args))
}

function findWhenMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  const when = handler.when as ((args: object) => unknown) | undefined
  if (when === undefined) return undefined
  return calling(handler, 'when', context, () => toVerdict(when(context.args()))) ? undefined : mismatches.when
}

/** A filter that fails says neither yes nor no: to go on would be a guess, and the handler must be found by its author. */
function calling<R>(handler: Handler, filter: string, context: MatchContext, judge: () => R): R {
  try {
    return judge()
  } catch (error) {
    const { namespace, name } = context.body.metadata ?? {}
    const subject = namespace === undefined ? name : `${namespace}/${name}`
    throw new KopfError(
      'KOPF_FILTER',
      `Cannot tell whether handler "${handler.id}" is for "${subject}": its "${filter}" filter failed: ${describeError(error)}`,
      { cause: error },
    )
  }
}

function explain(miss: Mismatch, handler: Handler, { reason, resource }: MatchContext): string {
  const field = `"${handler.field?.join('.')}"`
  switch (miss.type) {
    case 'reason':
      return isHandlerReason(reason)
        ? `It is for ${[...(handler.reasons ?? [])].join(' and ')}, and this is ${reason}`
        : `Nothing has happened that handlers are called for: the reason is ${reason}`
    case 'initial':
      return 'It is for objects that were there when the operator started and were not handled since'
    case 'deleting':
      return 'It is not for objects that are being deleted: it has no option "deleted"'
    case 'selector':
      return `It is for ${handler.selector}, and this is one of ${resource.plural}`
    case 'label':
    case 'annotation':
      return `The ${miss.type} "${miss.key}" does not match`
    case 'value':
      return handler.value === undefined
        ? `The field ${field} has no value`
        : `The value of the field ${field} does not match`
    case 'unchanged':
      return `The field ${field} has not changed`
    case 'old':
    case 'new':
      return `The ${miss.type} value of the field ${field} does not match`
    case 'when':
      return 'Its "when" says no'
  }
}
