/**
 * Timers whose filters ask functions: what these say may be different at the next tick without any event. Asked by
 * background.ts for those that are not for an object now, so that nobody is woken who could not be called.
 */
import type { Handler } from '../core/handling/handler.ts'
import { preMatches } from '../core/handling/select.ts'
import type { View } from './view.ts'

type Patterns = Handler['labels']

/** How long until they should be asked again; infinite where they have no say in it. */
export function recheckMsOf(handler: Handler, { resource, body, objectArgs }: View): number {
  const rhythm = handler.background?.rhythm
  if (rhythm === undefined || !asksFunctions(handler)) return Infinity
  if (!preMatches(withoutFunctions(handler), { resource, body, args: objectArgs })) return Infinity
  return rhythm.intervalMs ?? rhythm.idleMs ?? Infinity
}

function asksFunctions({ when, value, labels, annotations }: Handler): boolean {
  return [when, value, ...Object.values(labels ?? {}), ...Object.values(annotations ?? {})].some(isFunction)
}

/** The same as if all of them had said yes. */
function withoutFunctions(handler: Handler): Handler {
  return {
    ...handler,
    when: undefined,
    labels: fixedOnly(handler.labels),
    annotations: fixedOnly(handler.annotations),
    value: isFunction(handler.value) ? () => true : handler.value,
  }
}

function fixedOnly(patterns: Patterns): Patterns {
  return patterns && Object.fromEntries(Object.entries(patterns).filter(([, pattern]) => !isFunction(pattern)))
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
