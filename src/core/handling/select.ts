/**
 * Which handlers a situation concerns, and why not the others. Asked for every event and every handler, so that
 * a handler without filters costs a few comparisons and nothing is made that is not asked for. Pure, but for callbacks.
 */
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { resolvePath } from '../../util/paths.ts'
import type { Diff, Essence, HandlerReason, Reason } from '../causation/causes.ts'
import { isSame } from '../causation/diff.ts'
import { describeError } from './describe-error.ts'
import { findMismatch, matchesPattern, PRESENT, toVerdict } from './filters.ts'
import type { Handler, ValuePattern } from './handler.ts'

/** What there is to judge by; made per event. */
export interface Situation {
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
type Miss =
  | { readonly type: 'reason' | 'initial' | 'deleting' | 'selector' | 'value' | 'unchanged' | 'old' | 'new' | 'when' }
  | { readonly type: 'label' | 'annotation'; readonly key: string }

const misses = {
  reason: { type: 'reason' },
  initial: { type: 'initial' },
  deleting: { type: 'deleting' },
  selector: { type: 'selector' },
  value: { type: 'value' },
  unchanged: { type: 'unchanged' },
  old: { type: 'old' },
  new: { type: 'new' },
  when: { type: 'when' },
} as const satisfies Record<string, Miss>

/** A sentence on why the handler is not called; undefined where it is. */
export function whyNot(handler: Handler, situation: Situation): string | undefined {
  const miss = findMiss(handler, situation)
  return miss && explain(miss, handler, situation)
}

/**
 * Those to be called, in the order of registration; a function registered twice under one id is called once. A handler that does
 * not match the situation is selected where it matches the other one, if there is any: reviews of updates have two states.
 */
export function selectHandlers(handlers: readonly Handler[], situation: Situation, other?: Situation): Handler[] {
  const selected: Handler[] = []
  let ids: Set<string> | undefined
  for (const handler of handlers) {
    const isMissed = findMiss(handler, situation) !== undefined
    if (isMissed && (other === undefined || findMiss(handler, other) !== undefined)) continue
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
export function selectChangeHandlers(handlers: readonly Handler[], situation: Situation): Handler[] {
  return isHandlerReason(situation.reason) ? selectHandlers(handlers, situation) : []
}

/**
 * Whether the handler might be called at some time in the life of this object, whatever has happened now.
 * An object that no handler pre-matches is left alone (no annotations, no log); so is its finalizer decided.
 */
export function preMatches(handler: Handler, situation: Situation): boolean {
  return (findObjectMiss(handler, situation) ?? findWhenMiss(handler, situation)) === undefined
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
function findMiss(handler: Handler, situation: Situation): Miss | undefined {
  return (
    findReasonMiss(handler, situation) ??
    findObjectMiss(handler, situation) ??
    findChangeMiss(handler, situation) ??
    findWhenMiss(handler, situation)
  )
}

function findReasonMiss({ reasons, initial, deleted }: Handler, situation: Situation): Miss | undefined {
  const { reason } = situation
  if (reason === undefined) return undefined
  if (!isHandlerReason(reason) || (reasons !== undefined && !reasons.has(reason))) return misses.reason
  if (!initial) return undefined
  if (!situation.initial) return misses.initial
  return situation.deleting && !deleted ? misses.deleting : undefined
}

function findObjectMiss(handler: Handler, situation: Situation): Miss | undefined {
  const { selector, labels, annotations, field } = handler
  if (selector !== undefined && !selector.matches(situation.resource)) return misses.selector
  if (labels !== undefined) {
    const key = calling(handler, 'labels', situation, () =>
      findMismatch(labels, situation.body.metadata?.labels, situation.args),
    )
    if (key !== undefined) return { type: 'label', key }
  }
  if (annotations !== undefined) {
    const key = calling(handler, 'annotations', situation, () =>
      findMismatch(annotations, situation.body.metadata?.annotations, situation.args),
    )
    if (key !== undefined) return { type: 'annotation', key }
  }
  return field !== undefined && !matchesValue(handler, situation, field) ? misses.value : undefined
}

/**
 * For changes it is enough that one of the new and the old value matches, so that leaving a state is seen like
 * entering it. So ABSENT matches every creation: before it, there was nothing (as in Kopf).
 */
function matchesValue(handler: Handler, situation: Situation, field: readonly string[]): boolean {
  const pattern = handler.value === undefined ? PRESENT : handler.value
  return calling(handler, 'value', situation, () => {
    if (situation.reason === undefined) {
      return matchesPattern(pattern, resolvePath(situation.body, field), situation.args)
    }
    return (
      matchesPattern(pattern, resolvePath(situation.new, field), situation.args) ||
      matchesPattern(pattern, resolvePath(situation.old, field), situation.args)
    )
  })
}

/**
 * A field has changed where the diff has an item for it. Kopf compares with `!=` here, which tells null from absent, and its diff does
 * not: its handlers get an empty diff then.
 */
function findChangeMiss(handler: Handler, situation: Situation): Miss | undefined {
  const { field } = handler
  if (field === undefined || situation.reason === undefined) return undefined
  const old = resolvePath(situation.old, field)
  const now = resolvePath(situation.new, field)
  if (handler.needsChange && isSame(old, now)) return misses.unchanged
  if (!matchesSide(handler, situation, 'old', old)) return misses.old
  return matchesSide(handler, situation, 'new', now) ? undefined : misses.new
}

function matchesSide(handler: Handler, situation: Situation, side: 'old' | 'new', value: unknown): boolean {
  const pattern: ValuePattern = handler[side]
  if (pattern === undefined) return true
  return calling(handler, side, situation, () => matchesPattern(pattern, value, situation.args))
}

function findWhenMiss(handler: Handler, situation: Situation): Miss | undefined {
  const when = handler.when as ((args: object) => unknown) | undefined
  if (when === undefined) return undefined
  return calling(handler, 'when', situation, () => toVerdict(when(situation.args()))) ? undefined : misses.when
}

/** A filter that fails says neither yes nor no: to go on would be a guess, and the handler must be found by its author. */
function calling<R>(handler: Handler, filter: string, situation: Situation, judge: () => R): R {
  try {
    return judge()
  } catch (error) {
    const { namespace, name } = situation.body.metadata ?? {}
    const subject = namespace === undefined ? name : `${namespace}/${name}`
    throw new KopfError(
      'KOPF_FILTER',
      `Cannot tell whether handler "${handler.id}" is for "${subject}": its "${filter}" filter failed: ${describeError(error)}`,
      { cause: error },
    )
  }
}

function explain(miss: Miss, handler: Handler, { reason, resource }: Situation): string {
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
