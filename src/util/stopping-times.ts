/**
 * Time limits for the steps of stopping an operator. Used by the stop itself, for the default of `settings.queueing.exitTimeout` and
 * for `terminationGracePeriodSeconds` of `kopf manifests`, so that an operator always ends before Kubernetes kills it.
 */

export const stoppingMs = {
  /** To write the results of handlers, after the time for handlers. */
  lastWrites: 1000,
  /** To post the last Kubernetes events. */
  lastEvents: 2000,
  /** To remove the own record from the peering; other operators notice the absence later by themselves. */
  leavePeering: 5000,
  /** To release the Lease; without it, the next leader waits until the Lease expires. */
  releaseLease: 2000,
  /** To remove the webhook configurations: the API server would call webhooks that are gone. */
  withdrawWebhooks: 10_000,
  /** For a webhook server that does not end when its signal is aborted. */
  lastReviews: 10_000,
} as const

/** The default of `terminationGracePeriodSeconds` in Kubernetes. */
export const podGraceSeconds = 30

/** Assumed time for `cleanup` handlers, which have no limit. */
const cleanupSeconds = 5

const { lastWrites, lastEvents, leavePeering, releaseLease, withdrawWebhooks, lastReviews } = stoppingMs

/** All steps after the handlers, without webhooks. */
export const lastStepsSeconds: number = (lastWrites + lastEvents + leavePeering + releaseLease) / 1000 + cleanupSeconds

/** Additional time for an operator with webhooks. */
export const lastReviewsSeconds: number = (withdrawWebhooks + lastReviews) / 1000

/** The remaining time for handlers in the default grace period: 15 seconds. */
export const handlersSeconds: number = podGraceSeconds - lastStepsSeconds

/** The time for handlers in a grace period: what the last steps leave, and at least half, since the last steps rarely need all of their time. */
export function handlersMsWithin(graceMs: number, { hasWebhooks }: { readonly hasWebhooks: boolean }): number {
  const lastMs = (lastStepsSeconds + (hasWebhooks ? lastReviewsSeconds : 0)) * 1000
  return Math.max(graceMs - lastMs, graceMs / 2)
}

/** When a process that has not stopped yet exits by itself, before Kubernetes kills it: only then can it log what was cut off. */
export function exitMsWithin(graceMs: number): number {
  return Math.max(graceMs - 1000, graceMs * 0.9)
}
