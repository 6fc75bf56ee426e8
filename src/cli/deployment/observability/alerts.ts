/**
 * The alerts of an operator as rules of Prometheus. They use only series that every operator serves; docs/operate/metrics.md says what to do for
 * each of them. Pure.
 */
import type { DeploymentPlan } from '../plan.ts'

export interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: 'critical' | 'warning' }
  readonly annotations: { readonly summary: string; readonly description: string }
}

/** The name of the Service, which is the label `job` of all series. */
export function jobOf({ name }: Pick<DeploymentPlan, 'name'>): string {
  return `${name}-metrics`
}

/** Selects a series of the operator: `workqueue_depth{job="databases-metrics"}`. */
export function selectSeries(job: string): (series: string, labels?: string) => string {
  return (series, labels = '') => `${series}{job="${job}"${labels === '' ? '' : `,${labels}`}}`
}

/** For admission handlers, a denied request counts as failed: that is no error of the operator. */
export const notReviews = 'type!~"validate|mutate"'

export function listAlerts(plan: DeploymentPlan): Alert[] {
  const { name } = plan
  const of = selectSeries(jobOf(plan))
  const calls = (labels?: string) => `rate(${of('kopf_handler_calls_total', labels)}[15m])`
  return [
    {
      alert: 'OperatorNotScraped',
      expr: `${of('up')} == 0 or absent(${of('up')})`,
      for: '10m',
      labels: { severity: 'critical' },
      annotations: {
        summary: `The metrics of the operator ${name} cannot be read`,
        description: `Prometheus cannot scrape {{ with $labels.pod }}the pod {{ . }}{{ else }}any pod{{ end }} of ${name}: the operator does not run, the network policy blocks the port, or the service account of Prometheus may not get /metrics.`,
      },
    },
    {
      alert: 'OperatorStreamSilent',
      expr: `max by (namespace, pod, resource) (${of('kopf_watch_silence_seconds')}) > 300`,
      for: '5m',
      labels: { severity: 'critical' },
      annotations: {
        summary: `The operator ${name} receives no events of {{ $labels.resource }}`,
        description: `The watch of {{ $labels.resource }} in the pod {{ $labels.pod }} has been silent for {{ $value | humanizeDuration }}. The API server sends a bookmark every minute, so that changes of objects are not noticed now.`,
      },
    },
    {
      alert: 'OperatorQueueGrowing',
      expr: [
        `sum by (namespace, pod, controller) (min_over_time(${of('workqueue_depth')}[15m])) > 0`,
        `and sum by (namespace, pod, controller) (deriv(${of('workqueue_depth')}[30m])) > 0`,
        ...(plan.isElected ? [`unless on (namespace, pod) ${of('leader_election_master_status')} == 0`] : []),
      ].join(' '),
      for: '15m',
      labels: { severity: 'warning' },
      annotations: {
        summary: `More and more {{ $labels.controller }} wait for the operator ${name}`,
        description:
          'The queue of {{ $labels.controller }} in the pod {{ $labels.pod }} has not been empty for 15 minutes, and it grows: changes come faster than they are handled.',
      },
    },
    {
      alert: 'OperatorHandlersFailing',
      expr: `sum by (namespace, resource, handler) (increase(${of('kopf_handler_calls_total', `outcome="failed",${notReviews}`)}[15m])) > 0`,
      labels: { severity: 'warning' },
      annotations: {
        summary: `The handler {{ $labels.handler }} of the operator ${name} has failed for {{ $labels.resource }}`,
        description:
          'The handler has failed permanently and is not called again for these objects until they change. The condition and the events of the objects have the error.',
      },
    },
    {
      alert: 'OperatorHandlersRetrying',
      expr: `sum by (namespace, resource, handler) (${calls('outcome="retrying"')}) / sum by (namespace, resource, handler) (${calls()}) > 0.5`,
      for: '30m',
      labels: { severity: 'warning' },
      annotations: {
        summary: `The handler {{ $labels.handler }} of the operator ${name} is retried most of the time`,
        description:
          '{{ $value | humanizePercentage }} of the calls for {{ $labels.resource }} have ended with an error for half an hour, and are tried again.',
      },
    },
    ...(plan.isElected ? [leaderLost(plan)] : []),
    ...(plan.hasWebhooks ? [webhookDenials(plan)] : []),
    {
      alert: 'OperatorEventLoopLag',
      expr: `max by (namespace, pod) (${of('nodejs_eventloop_lag_seconds')}) > 1`,
      for: '5m',
      labels: { severity: 'warning' },
      annotations: {
        summary: `The event loop of the operator ${name} is blocked`,
        description:
          'In the pod {{ $labels.pod }}, timers are late by {{ $value | humanizeDuration }}. A handler computes for too long, or the pod has too little CPU; probes, Leases and webhooks are late, too.',
      },
    },
  ]
}

function leaderLost(plan: DeploymentPlan): Alert {
  const of = selectSeries(jobOf(plan))
  return {
    alert: 'OperatorLeaderLost',
    expr: `max by (namespace) (${of('leader_election_master_status')}) == 0`,
    for: '2m',
    labels: { severity: 'critical' },
    annotations: {
      summary: `No replica of the operator ${plan.name} is the leader`,
      description:
        'All replicas are candidates, so that no object is handled. The Lease cannot be renewed, or has another holder.',
    },
  }
}

function webhookDenials(plan: DeploymentPlan): Alert {
  const of = selectSeries(jobOf(plan))
  const denials = `sum by (namespace) (rate(${of('kopf_admission_denials_total')}[15m]))`
  const requests = `sum by (namespace) (rate(${of('controller_runtime_webhook_requests_total')}[15m]))`
  return {
    alert: 'OperatorWebhookDenials',
    expr: `${denials} / ${requests} > 0.5`,
    for: '15m',
    labels: { severity: 'warning' },
    annotations: {
      summary: `The webhooks of the operator ${plan.name} deny most requests`,
      description:
        '{{ $value | humanizePercentage }} of the reviewed requests have been denied for 15 minutes. Users cannot change their objects.',
    },
  }
}
