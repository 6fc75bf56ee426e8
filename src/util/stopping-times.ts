/**
 * How long each step of a stop may take. The one source for the stop itself, for the default of `settings.queueing.exitTimeout` and
 * for `terminationGracePeriodSeconds` of `kopf manifests`, so that an operator always ends before Kubernetes kills it.
 */

export const stoppingMs = {
  /** After the time for handlers: to write what the handlers have done. */
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

/** What Kubernetes grants a pod by default (`terminationGracePeriodSeconds`). */
export const podGraceSeconds = 30

/** For `cleanup` handlers, which have no limit of their own. */
const cleanupSeconds = 5

const { lastWrites, lastEvents, leavePeering, releaseLease, withdrawWebhooks, lastReviews } = stoppingMs

/** All that comes after the handlers, without webhooks. */
export const lastStepsSeconds: number = (lastWrites + lastEvents + leavePeering + releaseLease) / 1000 + cleanupSeconds

/** In addition, for an operator with webhooks. */
export const lastReviewsSeconds: number = (withdrawWebhooks + lastReviews) / 1000

/** What is left for handlers in the grace period of a pod: 15 seconds. */
export const handlersSeconds: number = podGraceSeconds - lastStepsSeconds
