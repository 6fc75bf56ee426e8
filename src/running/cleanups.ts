/** Reconcilers with `cleanup` keep the object from going until they have been called for its end. Asked by changes.ts. */
import type { Handler } from '../core/handling/handler.ts'
import { preMatches } from '../core/handling/select.ts'
import type { Memory } from './memories.ts'
import type { View } from './view.ts'

/** The finalizer belongs on the object. */
export function needsCleanup(memory: Memory, view: View): boolean {
  return cleaning(memory, view).length > 0
}

/** One of them has still to be called, or to come to an end. */
export function isCleanupOwed(memory: Memory, view: View): boolean {
  return cleaning(memory, view).some((handler) => !memory.reconciling?.get(handler)?.isCleaned)
}

function cleaning({ served }: Memory, { resource, body, objectArgs }: View): readonly Handler[] {
  const situation = { resource, body, args: objectArgs }
  return served.handlers.reconcile.filter((handler) => handler.needsFinalizer && preMatches(handler, situation))
}
