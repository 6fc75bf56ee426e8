/** The series about admission and conversion reviews. */
import type { ObservedHandler, ObservedReview, Observer } from '../../observer.ts'
import { webhookBuckets } from './buckets.ts'
import type { SeriesContext } from './series-context.ts'

/** The label of a review whose path names no handler. */
const unnamed = 'all'

/** `handlers`: the registered webhook handlers. */
export function createReviewSeries(
  { registry, handlers }: SeriesContext,
  webhooks: readonly ObservedHandler[],
): Observer {
  const requests = registry.counter('controller_runtime_webhook_requests_total', {
    help: 'Total number of admission requests by HTTP status code.',
    labels: ['webhook', 'code'],
  })
  const latency = registry.histogram('controller_runtime_webhook_latency_seconds', {
    help: 'Histogram of the latency of processing admission requests.',
    labels: ['webhook'],
    buckets: webhookBuckets,
  })
  const inFlight = registry.gauge('controller_runtime_webhook_requests_in_flight', {
    help: 'Current number of admission requests being served.',
    labels: ['webhook'],
  })
  const denials = registry.counter('kopf_admission_denials_total', {
    help: 'Requests that an admission handler has denied.',
    labels: ['handler'],
  })
  const labelOf = ({ type, handler }: ObservedReview) =>
    type === 'conversion' ? 'conversion' : handler === undefined ? unnamed : handlers.of(handler)
  for (const handler of webhooks) {
    const webhook = handler.type === 'convert' ? 'conversion' : handlers.of(handler)
    for (const code of ['200', '500']) requests.labels({ webhook, code })
    latency.labels({ webhook })
    inFlight.labels({ webhook })
    if (handler.type !== 'convert') denials.labels({ handler: webhook })
  }
  return {
    reviewStarted: (review) => inFlight.labels({ webhook: labelOf(review) }).inc(),
    reviewAnswered({ review, allowed, handler, code, durationMs }) {
      const webhook = labelOf(review)
      inFlight.labels({ webhook }).dec()
      latency.labels({ webhook }).observe(durationMs / 1000)
      // The API server has given up: nginx's status for that, since there is none in HTTP.
      requests.labels({ webhook, code: String(code ?? 499) }).inc()
      if (allowed === false) denials.labels({ handler: handler === undefined ? unnamed : handlers.of(handler) }).inc()
    },
  }
}
