/** The verdicts of all handlers of a resource, in the order of registration, and the operator's decision. Called by explain.ts. */
import { type Decision, decide } from '../causation/decide.ts'
import type { Handler } from '../handlers/handler.ts'
import { type HandlerCategory, handlerTypeOf } from '../handlers/handler-types.ts'
import { changeVerdicts } from './change-verdicts.ts'
import type { HandlerVerdict } from './explanation.ts'
import { checkFilters, checkObjectFilters, type ExplainedObject } from './filter-check.ts'

type HandlerVerdictOf = Omit<HandlerVerdict, 'id' | 'kind'>

/** Verdicts of handlers that do not depend on the reason of a change, by category. */
const others: Readonly<
  Partial<Record<HandlerCategory, (handler: Handler, sight: ExplainedObject) => HandlerVerdictOf>>
> = {
  index: () => ({ verdict: 'later', why: 'It is called with every state of the object' }),
  event: () => ({ verdict: 'later', why: 'It is called with every event of the object' }),
  background: verdictOfBackground,
  reconcile: verdictOfReconcile,
  admission: ({ admission }) => ({
    verdict: 'later',
    why: `The API server asks it before the object is stored (${admission?.operations?.join(', ') ?? 'any operation'})`,
  }),
  conversion: ({ conversion }) => ({
    verdict: 'later',
    why: `The API server asks it for objects of ${conversion?.from} in ${conversion?.to}`,
  }),
}

export function handlerVerdicts(sight: ExplainedObject, notes: string[]): HandlerVerdict[] {
  const { handlers } = sight
  const changes = changeVerdicts(sight, notes)
  noteDecision(sight, notes)
  if (handlers.change.length > 0 && !sight.hasHandlers) {
    notes.push('No handler of changes can be for this object as it is: nothing is stored on it, and it is left alone')
  }
  const rooms = [handlers.index, handlers.event, handlers.change, handlers.background, handlers.reconcile]
  return [...rooms, handlers.admission, handlers.conversion].flat().map((handler) => {
    const { id, type: kind } = handler
    return { id, kind, ...(changes.get(handler) ?? verdictOfOther(sight, handler)) }
  })
}

function verdictOfOther(sight: ExplainedObject, handler: Handler): HandlerVerdictOf {
  const room = handlerTypeOf(handler)?.category
  const { why, error } = checkObjectFilters(handler, sight)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  if (why !== undefined) return { verdict: 'no', why }
  const judge = room === undefined ? undefined : others[room]
  return judge?.(handler, sight) ?? { verdict: 'no', why: 'It is for other occasions' }
}

function verdictOfBackground(
  { needsFinalizer }: Handler,
  { deleting, hasFinalizer }: ExplainedObject,
): HandlerVerdictOf {
  if (deleting) return { verdict: 'no', why: 'The object is being deleted: it is told to stop' }
  if (needsFinalizer && !hasFinalizer) return { verdict: 'later', why: 'It starts when our finalizer is on the object' }
  return { verdict: 'runs', why: 'It runs beside the object, unless it has ended by itself, which is stored nowhere' }
}

function verdictOfReconcile(
  { needsFinalizer, reconciling }: Handler,
  { deleting, hasFinalizer }: ExplainedObject,
): HandlerVerdictOf {
  if (deleting && needsFinalizer) {
    if (!hasFinalizer)
      return { verdict: 'no', why: 'The object is being deleted, and our finalizer is not on it: it is done' }
    return { verdict: 'runs', why: 'It is called until it returns without an error: the object stays until then' }
  }
  if (needsFinalizer && !hasFinalizer)
    return { verdict: 'later', why: 'It is called when our finalizer is on the object' }
  const others = [...(reconciling?.owns ?? []), ...(reconciling?.watches ?? []).map(({ selector }) => selector)]
  const what = ['the object', ...others.map((selector) => `one of its ${selector}`)].join(', or ')
  const kept = needsFinalizer ? 'its steps are stored until it returns without an error' : 'nothing of it is stored'
  return { verdict: 'later', why: `It is called at the start, and whenever ${what} changes; ${kept}` }
}

/**
 * Returns the decision of an operator without running daemons: calls the same `decide()`. A filter that fails here counts as not
 * matching.
 */
export function decideFor(sight: ExplainedObject): Decision {
  const { handlers, deleting, hasFinalizer, hasHandlers } = sight
  const beside = [...handlers.background, ...handlers.reconcile]
  return decide({
    deleting,
    hasFinalizer,
    hasHandlers,
    needsFinalizer:
      handlers.change.some((handler) => handler.needsFinalizer && checkFilters(handler, sight).matches) ||
      beside.some((handler) => handler.needsFinalizer && checkObjectFilters(handler, sight).matches),
    isPaused: false,
    isHeld: () => false,
    reason: () => sight.detected.reason,
    rateLimitMs: () => 0,
  })
}

function noteDecision(sight: ExplainedObject, notes: string[]): void {
  const { finalizer } = sight.settings.persistence
  const { type, reason } = decideFor(sight)
  if (type === 'add-finalizer') notes.push(`The finalizer "${finalizer}" is put on first`)
  if (type === 'remove-finalizer' && reason === 'not-required') {
    notes.push(`The finalizer "${finalizer}" is taken off: no handler needs it for this object`)
  }
}
