/**
 * Decides what an operator does next with an object: the finalizer first, then the handlers. Pure. objects/change-handling.ts
 * executes the decision, and `kopf explain` prints it.
 */
import type { HandlerReason, Reason } from './cause.ts'

/** The next action for one object, and its reason. */
export type Decision =
  /**
   * Nothing is done. `no-handlers`: no change handler matches the object. `paused`: the operator is paused. `released`: the
   * object is being deleted and does not have our finalizer.
   */
  | { readonly type: 'ignore'; readonly reason: 'no-handlers' | 'paused' | 'released' }
  /** A handler needs the finalizer, and the object does not have it. */
  | { readonly type: 'add-finalizer'; readonly reason: 'required' }
  /** `not-required`: no handler needs the finalizer. `finished`: the object is being deleted, and all clean-up is done. */
  | { readonly type: 'remove-finalizer'; readonly reason: 'not-required' | 'finished' }
  /** The object has changed too often: the next handling waits. */
  | { readonly type: 'wait'; readonly reason: 'rate-limit'; readonly delayMs: number }
  /**
   * The change handlers that are due are called. `noop`: nothing has changed, and only unfinished handlers of earlier changes are
   * called.
   */
  | { readonly type: 'handle'; readonly reason: HandlerReason | 'noop' }

/** The facts that the decision depends on. Expensive ones are functions, called only if the decision depends on them. */
export interface DecisionInput {
  /** `metadata.deletionTimestamp` is set. */
  readonly deleting: boolean
  /** Our finalizer is on the object. */
  readonly hasFinalizer: boolean
  /** The filters of at least one change handler match the object, for any reason. */
  readonly hasHandlers: boolean
  /** A matching change handler or a feature needs the finalizer. */
  readonly needsFinalizer: boolean
  /** The operator is paused for the namespace of the object. */
  readonly isPaused: boolean
  /** Daemons still run, patches are unwritten, or a reconciler has to clean up. */
  readonly isHeld: () => boolean
  readonly reason: () => Reason
  /** The delay of an update, caused by the rate limit for objects that change often. */
  readonly rateLimitMs: (reason: Reason) => number
}

export function decide(input: DecisionInput): Decision {
  const { deleting, hasFinalizer, hasHandlers, needsFinalizer, isPaused } = input
  if (needsFinalizer && !hasFinalizer && !deleting) return { type: 'add-finalizer', reason: 'required' }
  if (!needsFinalizer && hasFinalizer) return { type: 'remove-finalizer', reason: 'not-required' }
  // Objects that match no change handler are not touched: nothing is stored on them, nothing is logged.
  if (!hasHandlers) {
    const isFinished = deleting && hasFinalizer && !input.isHeld()
    return isFinished ? { type: 'remove-finalizer', reason: 'finished' } : { type: 'ignore', reason: 'no-handlers' }
  }
  if (isPaused) return { type: 'ignore', reason: 'paused' }
  const reason = input.reason()
  const delayMs = input.rateLimitMs(reason)
  if (delayMs > 0) return { type: 'wait', reason: 'rate-limit', delayMs }
  if (reason === 'free' || reason === 'gone') return { type: 'ignore', reason: 'released' }
  return { type: 'handle', reason }
}
