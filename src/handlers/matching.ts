/**
 * Decides which handlers match an object and a cause, and explains why the others do not. Runs for every event and every handler: a handler
 * without filters costs a few comparisons. Pure, except that callbacks of filters are called.
 */

import type { Diff, Essence, HandlerReason, Reason } from '../causation/cause.ts'
import { isSame } from '../causation/diff.ts'
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { resolvePath } from '../util/json/paths.ts'
import { describeError } from '../util/log/describe-error.ts'
import { findPatternMismatch, matchesPattern, PRESENT, toVerdict } from './filters.ts'
import type { Handler } from './handler.ts'
import type { ValuePattern } from './options.ts'

/** The object and the cause that filters are compared with. */
export interface MatchContext {
  readonly resource: Resource
  readonly body: KubeObject
  /** The cause, for change handlers; undefined for handlers that are called without one. */
  readonly reason?: Reason
  /** Whether the object existed when the operator started and was not handled since. */
  readonly initial?: boolean
  readonly deleting?: boolean
  readonly old?: Essence | undefined
  readonly new?: Essence | undefined
  readonly diff?: Diff
  /** Creates the arguments of callbacks, once and only if a callback is called. */
  readonly args: () => object
}

/** Why a handler does not match. `explain` makes a sentence of it when one is needed. */
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

/** Why the handler is not called, as a sentence. Undefined if the handler matches. */
export function whyNot(handler: Handler, context: MatchContext): string | undefined {
  const miss = findMismatch(handler, context)
  return miss && explain(miss, handler, context)
}

/**
 * The matching handlers, in the order of registration; a function that is registered twice with one id is selected once. With `other`, a handler
 * needs to match only one of the two contexts: reviews of updates have an old and a new object.
 */
export function selectHandlers<H extends Handler>(
  handlers: readonly H[],
  context: MatchContext,
  other?: MatchContext,
): H[] {
  const selected: H[] = []
  let ids: Set<string> | undefined
  for (const handler of handlers) {
    const isMissed = findMismatch(handler, context) !== undefined
    if (isMissed && (other === undefined || findMismatch(handler, other) !== undefined)) continue
    // With many sub-handlers, a set of ids is faster than a search in the list.
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

/** The handlers that match a change; none if the cause is not one for handlers. */
export function selectChangeHandlers<H extends Handler>(handlers: readonly H[], context: MatchContext): H[] {
  return isHandlerReason(context.reason) ? selectHandlers(handlers, context) : []
}

/**
 * Whether the handler could be called for this object at some time, whatever the cause. An object that no handler pre-matches gets no
 * annotations and no log lines, and needs no finalizer.
 */
export function preMatches(handler: Handler, context: MatchContext): boolean {
  return (findObjectMismatch(handler, context) ?? findWhenMismatch(handler, context)) === undefined
}

/** Whether a filter of the handler depends on the object itself, and not only on the change. */
export function looksAtObject({ labels, annotations, when, value, old, new: current }: Handler): boolean {
  if (labels !== undefined || annotations !== undefined || when !== undefined) return true
  return [value, old, current].some((pattern) => typeof pattern === 'function')
}

export function isHandlerReason(reason: Reason | undefined): reason is HandlerReason {
  return reason === 'create' || reason === 'update' || reason === 'delete' || reason === 'resume'
}

/** The order is that of Kopf: callbacks can observe it, and `when`, which may be expensive, comes last. */
function findMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  return (
    findReasonMismatch(handler, context) ??
    findObjectMismatch(handler, context) ??
    findChangeMismatch(handler, context) ??
    findWhenMismatch(handler, context)
  )
}

function findReasonMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  const { reason } = context
  if (reason === undefined) return undefined
  if (!isHandlerReason(reason)) return mismatches.reason
  if (handler.category !== 'change') return undefined
  const { reasons, initial, deleted } = handler
  if (reasons !== undefined && !reasons.has(reason)) return mismatches.reason
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
 * For a change, the new or the old value must match: a handler is called when the field gets the value and when it loses it. ABSENT therefore
 * matches every creation, as in Kopf, because there is no old value.
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
 * A field has changed if the diff has an item for it. Kopf compares with `!=` instead, which distinguishes null from absent, while its diff
 * does not: its handlers are then called with an empty diff.
 */
function findChangeMismatch(handler: Handler, context: MatchContext): Mismatch | undefined {
  const { field } = handler
  if (field === undefined || context.reason === undefined) return undefined
  const old = resolvePath(context.old, field)
  const now = resolvePath(context.new, field)
  if (handler.category === 'change' && handler.needsChange && isSame(old, now)) return mismatches.unchanged
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

/** A filter that throws neither matches nor mismatches: the error names the handler and the filter for its author. */
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

function reasonsOf(handler: Handler): readonly string[] {
  return handler.category === 'change' ? [...(handler.reasons ?? [])] : []
}

function explain(miss: Mismatch, handler: Handler, { reason, resource }: MatchContext): string {
  const field = `"${handler.field?.join('.')}"`
  switch (miss.type) {
    case 'reason':
      return isHandlerReason(reason)
        ? `It is for ${reasonsOf(handler).join(' and ')}, and this is ${reason}`
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
      return 'Its "when" returned false'
  }
}
