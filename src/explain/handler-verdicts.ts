/** The verdicts of all handlers of a resource, in the order of registration, and the operator's decision. Called by explain.ts. */
import { type Decision, decide } from '../causation/decide.ts'
import type { CallForecast } from '../handlers/definition.ts'
import type { Handler } from '../handlers/handler.ts'
import { allHandlers } from '../objects/state/served-resource.ts'
import { changeVerdicts } from './change-verdicts.ts'
import type { HandlerVerdict } from './explanation.ts'
import { checkFilters, checkObjectFilters, type ExplainedObject } from './filter-check.ts'

export function handlerVerdicts(sight: ExplainedObject, notes: string[]): HandlerVerdict[] {
  const { handlers } = sight
  const changes = changeVerdicts(sight, notes)
  noteDecision(sight, notes)
  if (handlers.change.length > 0 && !sight.hasHandlers) {
    notes.push('No handler of changes can be for this object as it is: nothing is stored on it, and it is left alone')
  }
  return [...allHandlers(handlers), ...handlers.admission, ...handlers.conversion].map((handler) => {
    const { id, type: kind } = handler
    return { id, kind, ...(changes.get(handler) ?? forecastOf(sight, handler)) }
  })
}

/** The forecast for a handler whose calls do not depend on progress: the definition of its category tells it. */
function forecastOf(sight: ExplainedObject, handler: Handler): CallForecast {
  const { why, error } = checkObjectFilters(handler, sight)
  if (error !== undefined) return { verdict: 'unclear', why: error }
  if (why !== undefined) return { verdict: 'no', why }
  return handler.definition.explain?.(handler, sight) ?? { verdict: 'no', why: 'It is for other occasions' }
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
    // A reconciler with `cleanup` holds the object until it has cleaned up, which only a running operator knows.
    isHeld: () =>
      handlers.reconcile.some((handler) => handler.needsFinalizer && checkObjectFilters(handler, sight).matches),
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
