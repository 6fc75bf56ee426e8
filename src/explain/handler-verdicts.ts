/** The verdicts of all handlers of a resource, in the order of registration, and the operator's decision. Called by explain.ts. */
import { type Decision, decide } from '../causation/decide.ts'
import type { CallForecast } from '../handlers/definition.ts'
import type { Handler } from '../handlers/handler.ts'
import { allHandlers } from '../objects/state/served-resource.ts'
import { changeVerdicts } from './change-verdicts.ts'
import type { HandlerVerdict } from './explanation.ts'
import { checkFilters, checkObjectFilters, type ExplainedObject } from './filter-check.ts'

export function handlerVerdicts(explained: ExplainedObject, notes: string[]): HandlerVerdict[] {
  const { handlers } = explained
  const changes = changeVerdicts(explained, notes)
  noteDecision(explained, notes)
  if (handlers.change.length > 0 && !explained.hasHandlers) {
    notes.push('No change handler can match this object in its current state: the operator stores nothing on it')
  }
  return [...allHandlers(handlers), ...handlers.admission, ...handlers.conversion].map((handler) => {
    const { id, type: kind } = handler
    return { id, kind, ...(changes.get(handler) ?? forecastOf(explained, handler)) }
  })
}

/** The forecast for a handler whose calls do not depend on progress: the definition of its category tells it. */
function forecastOf(explained: ExplainedObject, handler: Handler): CallForecast {
  const { why, error } = checkObjectFilters(handler, explained)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  if (why !== undefined) return { verdict: 'no', why }
  return handler.definition.explain?.(handler, explained) ?? { verdict: 'no', why: 'It is for other occasions' }
}

/**
 * Returns the decision of an operator without running daemons: calls the same `decide()`. A filter that fails here counts as not
 * matching.
 */
export function decideFor(explained: ExplainedObject): Decision {
  const { handlers, deleting, hasFinalizer, hasHandlers } = explained
  const beside = [...handlers.background, ...handlers.reconcile]
  return decide({
    deleting,
    hasFinalizer,
    hasHandlers,
    needsFinalizer:
      handlers.change.some((handler) => handler.needsFinalizer && checkFilters(handler, explained).matches) ||
      beside.some((handler) => handler.needsFinalizer && checkObjectFilters(handler, explained).matches),
    isPaused: false,
    // A reconciler with `cleanup` holds the object until it has cleaned up, which only a running operator knows.
    isHeld: () =>
      handlers.reconcile.some((handler) => handler.needsFinalizer && checkObjectFilters(handler, explained).matches),
    reason: () => explained.detected.reason,
    rateLimitMs: () => 0,
  })
}

function noteDecision(explained: ExplainedObject, notes: string[]): void {
  const { finalizer } = explained.settings.persistence
  const { type, reason } = decideFor(explained)
  if (type === 'add-finalizer') notes.push(`The finalizer "${finalizer}" is added first`)
  if (type === 'remove-finalizer' && reason === 'not-required') {
    notes.push(`The finalizer "${finalizer}" is removed: no handler needs it for this object`)
  }
}
