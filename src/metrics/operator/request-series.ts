/** The series about requests to the API server. */
import type { Observer } from '../../observer.ts'
import { resourceLabel } from '../resource-label.ts'
import { requestBuckets } from './buckets.ts'
import type { SeriesContext } from './series-context.ts'

/** The host of a run with a `transport`, such as the embedded server, which has no address. */
const embeddedHost = 'embedded'
/** The label of client-go for requests without a response. */
const noResponse = '<error>'

export function createRequestSeries({ registry }: SeriesContext): Observer {
  const requests = registry.counter('rest_client_requests_total', {
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  })
  const durations = registry.histogram('rest_client_request_duration_seconds', {
    help: 'Request latency in seconds, by method and host. Watches count until their response starts.',
    labels: ['verb', 'host'],
    buckets: requestBuckets,
  })
  const purposes = registry.counter('kopf_requests_total', {
    help: 'Requests to the API server by their purpose, resource and status code.',
    labels: ['purpose', 'resource', 'code'],
  })
  let host = embeddedHost
  return {
    connected({ server }) {
      host = hostOf(server)
      for (const method of ['GET', 'PATCH']) requests.labels({ code: '200', method, host })
      requests.labels({ code: '201', method: 'POST', host })
      for (const verb of ['GET', 'POST', 'PATCH']) durations.labels({ verb, host })
    },
    requestFinished({ method, code: status, durationMs, purpose, resource }) {
      const code = status === undefined ? noResponse : String(status)
      requests.labels({ code, method, host }).inc()
      durations.labels({ verb: method, host }).observe(durationMs / 1000)
      purposes.labels({ purpose, resource: resource === undefined ? '' : resourceLabel(resource), code }).inc()
    },
  }
}

function hostOf(server: string | undefined): string {
  if (server === undefined) return embeddedHost
  return URL.canParse(server) ? new URL(server).host : server
}
