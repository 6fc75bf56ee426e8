/** The series about requests to the API server. */
import type { CounterSeries, HistogramSeries } from '../../handlers/args/metrics.ts'
import type { Observer } from '../../observer.ts'
import { resourceLabel } from '../resource-label.ts'
import { requestBuckets } from './buckets.ts'
import { getOrAdd, getOrAddMap, type SeriesContext } from './series-context.ts'

/** The host of a run with a `transport`, such as the embedded server, which has no address. */
const embeddedHost = 'embedded'
/** The label of client-go for requests without a response. */
const noResponse = '<error>'

interface RequestHandles {
  readonly total: CounterSeries
  readonly duration: HistogramSeries
}

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
  /** The series by their labels, so that a request needs no lookup of label values. At most as many as the metrics have, and one per status. */
  const byMethod = new Map<string, Map<number | undefined, RequestHandles>>()
  const byPurpose = new Map<string, Map<string, Map<number | undefined, CounterSeries>>>()
  return {
    connected({ server }) {
      byMethod.clear()
      host = hostOf(server)
      for (const method of ['GET', 'PATCH']) requests.labels({ code: '200', method, host })
      requests.labels({ code: '201', method: 'POST', host })
      for (const verb of ['GET', 'POST', 'PATCH']) durations.labels({ verb, host })
    },
    requestFinished({ method, code: status, durationMs, purpose, resource }) {
      const byStatus = getOrAddMap(byMethod, method)
      const { total, duration } = getOrAdd(byStatus, status, () => ({
        total: requests.labels({ code: codeOf(status), method, host }),
        duration: durations.labels({ verb: method, host }),
      }))
      total.inc()
      duration.observe(durationMs / 1000)
      const label = resource === undefined ? '' : resourceLabel(resource)
      const byResource = getOrAddMap(byPurpose, purpose)
      const byCode = getOrAddMap(byResource, label)
      getOrAdd(byCode, status, () => purposes.labels({ purpose, resource: label, code: codeOf(status) })).inc()
    },
  }
}

function codeOf(status: number | undefined): string {
  return status === undefined ? noResponse : String(status)
}

function hostOf(server: string | undefined): string {
  if (server === undefined) return embeddedHost
  return URL.canParse(server) ? new URL(server).host : server
}
