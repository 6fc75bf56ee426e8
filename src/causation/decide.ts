/**
 * Decides what happens next with an object: the finalizer first, then the handlers. Pure: `kopf explain` prints the same decision. Executed by
 * change-handling.ts.
 */
import type { HandlerReason, Reason } from './cause.ts'

/** What happens next with one object, and why. */
export type Decision =
  /** Nothing is done. `no-handlers`: no change handler can match the object. `released`: it is being deleted and our finalizer is not on it. */
  | { readonly type: 'ignore'; readonly reason: 'no-handlers' | 'paused' | 'released' }
  /** A handler needs the finalizer, and the object does not have it. */
  | { readonly type: 'add-finalizer'; readonly reason: 'required' }
  /** `not-required`: no handler needs the finalizer. `finished`: the object is being deleted, and nothing holds it any more. */
  | { readonly type: 'remove-finalizer'; readonly reason: 'not-required' | 'finished' }
  /** The object changes all the time: the next run waits. */
  | { readonly type: 'wait'; readonly reason: 'rate-limit'; readonly delayMs: number }
  /** The change handlers are called, as far as they are due. `noop`: only unfinished handlers of earlier changes. */
  | { readonly type: 'handle'; readonly reason: HandlerReason | 'noop' }

/** The facts that the decision depends on. Expensive ones are functions, called only if the decision depends on them. */
export interface DecisionInput {
  /** `metadata.deletionTimestamp` is set. */
  readonly deleting: boolean
  /** Our finalizer is on the object. */
  readonly hasFinalizer: boolean
  /** Some change handler can match the object, whatever changes. */
  readonly hasHandlers: boolean
  /** A matching change handler or a feature needs the finalizer. */
  readonly needsFinalizer: boolean
  /** The operator is paused for the namespace of the object. */
  readonly isPaused: boolean
  /** Daemons still run, patches are unwritten, or a reconciler has to clean up. */
  readonly isHeld: () => boolean
  readonly reason: () => Reason
  /** How long an update waits because of the changes before it. */
  readonly rateLimitMs: (reason: Reason) => number
}

export function decide(input: DecisionInput): Decision {
  const { deleting, hasFinalizer, hasHandlers, needsFinalizer, isPaused } = input
  if (needsFinalizer && !hasFinalizer && !deleting) return { type: 'add-finalizer', reason: 'required' }
  if (!needsFinalizer && hasFinalizer) return { type: 'remove-finalizer', reason: 'not-required' }
  // Objects that no change handler can match are left alone: nothing is stored on them, nothing is logged.
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
