/**
 * Timers whose filters are functions: the result of a function may change without an event. So the worker evaluates the filters of a timer that does not
 * match again after the interval of the timer. Called by object-daemons.ts.
 */
import type { BackgroundHandler } from '../handlers/handler.ts'
import { preMatches } from '../handlers/matching.ts'
import type { CauseView } from '../objects/cause-view.ts'

type LabelPatterns = BackgroundHandler['labels']

/** The time after which to evaluate the filters again; infinite if the result does not depend on a function. */
export function filterCheckDelayMs(handler: BackgroundHandler, { resource, body, objectArgs }: CauseView): number {
  const schedule = handler.background.schedule
  if (schedule === undefined || !hasCallbackPatterns(handler)) return Infinity
  if (!preMatches(withoutCallbacks(handler), { resource, body, args: objectArgs })) return Infinity
  return schedule.intervalMs ?? schedule.idleMs ?? Infinity
}

function hasCallbackPatterns({ when, value, labels, annotations }: BackgroundHandler): boolean {
  return [when, value, ...Object.values(labels ?? {}), ...Object.values(annotations ?? {})].some(isFunction)
}

/** The handler as if all functions had returned true. */
function withoutCallbacks(handler: BackgroundHandler): BackgroundHandler {
  return {
    ...handler,
    when: undefined,
    labels: fixedOnly(handler.labels),
    annotations: fixedOnly(handler.annotations),
    value: isFunction(handler.value) ? () => true : handler.value,
  }
}

function fixedOnly(patterns: LabelPatterns): LabelPatterns {
  return patterns && Object.fromEntries(Object.entries(patterns).filter(([, pattern]) => !isFunction(pattern)))
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
