/** The Grafana dashboard of an operator. Its panels use only series that the operator serves. Pure. */
import type { DeploymentPlan } from '../plan.ts'
import { jobOf, notReviews, selectSeries } from './alerts.ts'

/** One query: the expression, and the legend of its series. */
type PanelQuery = readonly [expr: string, legend: string]

interface Panel {
  readonly title: string
  readonly description?: string
  /** Default: a graph. */
  readonly type?: 'stat'
  /** Default: a number. */
  readonly unit?: 's' | 'percentunit' | 'bytes' | 'reqps' | 'ops' | 'short'
  readonly queries: readonly PanelQuery[]
}

interface PanelRow {
  readonly title: string
  readonly panels: readonly Panel[]
}

const of = selectSeries('$job')
const interval = '[$__rate_interval]'

/** The per-second rate of a counter, summed by a label. */
function rateBy(labels: string, series: string, selected?: string): string {
  return `sum by (${labels}) (rate(${of(series, selected)}${interval}))`
}

/** A quantile of a histogram. */
function quantileBy(quantile: number, labels: string, series: string): string {
  return `histogram_quantile(${quantile}, sum by (le, ${labels}) (rate(${of(`${series}_bucket`)}${interval})))`
}

function listRows({ isElected, hasWebhooks }: DeploymentPlan): PanelRow[] {
  return [
    { title: 'Overview', panels: overviewPanels(isElected) },
    { title: 'Handlers', panels: handlerPanels },
    { title: 'Queue and reconciling', panels: queuePanels },
    { title: 'Watches and requests', panels: requestPanels },
    ...(hasWebhooks ? [{ title: 'Webhooks', panels: webhookPanels }] : []),
    { title: 'Process', panels: processPanels },
  ]
}

function overviewPanels(isElected: boolean): readonly Panel[] {
  const leader: Panel = {
    title: 'Leader',
    description: '1: this pod is the leader.',
    type: 'stat',
    queries: [[`max by (pod) (${of('leader_election_master_status')})`, '{{pod}}']],
  }
  return [
    {
      title: 'Failed objects',
      description: 'A handler has failed permanently for their present state.',
      type: 'stat',
      queries: [[`sum by (resource) (${of('kopf_objects', 'state="failed"')})`, '{{resource}}']],
    },
    {
      title: 'Waiting objects',
      type: 'stat',
      queries: [[`sum by (controller) (${of('workqueue_depth')})`, '{{controller}}']],
    },
    ...(isElected ? [leader] : []),
    {
      title: 'Version',
      type: 'stat',
      queries: [[`max by (pod, version) (${of('kopf_build_info')})`, '{{pod}}: kopf {{version}}']],
    },
    {
      title: 'Objects by state',
      unit: 'short',
      queries: [[`sum by (resource, state) (${of('kopf_objects')})`, '{{resource}} {{state}}']],
    },
    {
      title: 'From a change to the written result',
      description: 'From the event of the watch to the written result of all handlers.',
      unit: 's',
      queries: [
        [quantileBy(0.5, 'resource', 'kopf_change_to_handled_seconds'), '{{resource}} p50'],
        [quantileBy(0.99, 'resource', 'kopf_change_to_handled_seconds'), '{{resource}} p99'],
      ],
    },
  ]
}

const handlerPanels: readonly Panel[] = [
  {
    title: 'Calls by outcome',
    unit: 'ops',
    queries: [[rateBy('outcome', 'kopf_handler_calls_total'), '{{outcome}}']],
  },
  {
    title: 'Failed and retried calls',
    unit: 'ops',
    queries: [
      [
        rateBy('resource, handler, outcome', 'kopf_handler_calls_total', `outcome=~"failed|retrying",${notReviews}`),
        '{{resource}} {{handler}} {{outcome}}',
      ],
    ],
  },
  {
    title: 'Duration of calls, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'resource, handler', 'kopf_handler_duration_seconds'), '{{resource}} {{handler}}']],
  },
  {
    title: 'Daemons and timers',
    unit: 'short',
    queries: [[`sum by (resource, handler) (${of('kopf_daemons')})`, '{{resource}} {{handler}}']],
  },
  {
    title: 'Lateness of timers, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'resource, handler', 'kopf_timer_lateness_seconds'), '{{resource}} {{handler}}']],
  },
]

const queuePanels: readonly Panel[] = [
  {
    title: 'Processed objects by result',
    unit: 'ops',
    queries: [[rateBy('controller, result', 'controller_runtime_reconcile_total'), '{{controller}} {{result}}']],
  },
  {
    title: 'Errors',
    unit: 'ops',
    queries: [
      [rateBy('controller', 'controller_runtime_reconcile_errors_total'), '{{controller}}'],
      [rateBy('controller', 'controller_runtime_terminal_reconcile_errors_total'), '{{controller}} permanent'],
    ],
  },
  {
    title: 'Time of processing, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'controller', 'controller_runtime_reconcile_time_seconds'), '{{controller}}']],
  },
  {
    title: 'Waiting objects',
    unit: 'short',
    queries: [[`sum by (controller) (${of('workqueue_depth')})`, '{{controller}}']],
  },
  {
    title: 'Time in the queue, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'controller', 'workqueue_queue_duration_seconds'), '{{controller}}']],
  },
  {
    title: 'Added and retried objects',
    unit: 'ops',
    queries: [
      [rateBy('controller', 'workqueue_adds_total'), '{{controller}} added'],
      [rateBy('controller', 'workqueue_retries_total'), '{{controller}} retried'],
    ],
  },
  {
    title: 'Busy workers',
    unit: 'short',
    queries: [
      [`sum by (controller) (${of('controller_runtime_active_workers')})`, '{{controller}}'],
      [`max by (controller) (${of('controller_runtime_max_concurrent_reconciles')})`, '{{controller}} limit'],
    ],
  },
  {
    title: 'Longest running call',
    unit: 's',
    queries: [[`max by (controller) (${of('workqueue_longest_running_processor_seconds')})`, '{{controller}}']],
  },
]

const requestPanels: readonly Panel[] = [
  {
    title: 'Silence of watches',
    description: 'The API server sends at least a bookmark every minute.',
    unit: 's',
    queries: [[`max by (resource) (${of('kopf_watch_silence_seconds')})`, '{{resource}}']],
  },
  {
    title: 'Restarts of watches',
    unit: 'ops',
    queries: [[rateBy('resource, reason', 'kopf_watch_restarts_total'), '{{resource}} {{reason}}']],
  },
  {
    title: 'Requests to the API server by status',
    unit: 'reqps',
    queries: [[rateBy('method, code', 'rest_client_requests_total'), '{{method}} {{code}}']],
  },
  {
    title: 'Duration of requests, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'verb', 'rest_client_request_duration_seconds'), '{{verb}}']],
  },
  {
    title: 'Writes by purpose',
    unit: 'ops',
    queries: [[rateBy('resource, purpose', 'kopf_writes_total'), '{{resource}} {{purpose}}']],
  },
  {
    title: 'Outdated states and contention',
    unit: 'ops',
    queries: [
      [`sum(rate(${of('kopf_stale_states_total')}${interval}))`, 'outdated states'],
      [rateBy('resource', 'kopf_contention_total'), '{{resource}} contention'],
    ],
  },
]

const webhookPanels: readonly Panel[] = [
  {
    title: 'Reviews by status',
    unit: 'reqps',
    queries: [[rateBy('webhook, code', 'controller_runtime_webhook_requests_total'), '{{webhook}} {{code}}']],
  },
  {
    title: 'Time of reviews, p99',
    unit: 's',
    queries: [[quantileBy(0.99, 'webhook', 'controller_runtime_webhook_latency_seconds'), '{{webhook}}']],
  },
  {
    title: 'Running reviews',
    unit: 'short',
    queries: [[`sum by (webhook) (${of('controller_runtime_webhook_requests_in_flight')})`, '{{webhook}}']],
  },
  {
    title: 'Denials',
    unit: 'ops',
    queries: [[rateBy('handler', 'kopf_admission_denials_total'), '{{handler}}']],
  },
]

const processPanels: readonly Panel[] = [
  {
    title: 'Lag of the event loop',
    unit: 's',
    queries: [[`max by (pod) (${of('nodejs_eventloop_lag_seconds')})`, '{{pod}}']],
  },
  {
    title: 'CPU',
    unit: 'percentunit',
    queries: [[rateBy('pod', 'process_cpu_seconds_total'), '{{pod}}']],
  },
  {
    title: 'Memory',
    unit: 'bytes',
    queries: [
      [`max by (pod) (${of('process_resident_memory_bytes')})`, '{{pod}}'],
      [`max by (pod) (${of('nodejs_heap_size_used_bytes')})`, '{{pod}} heap'],
    ],
  },
]

const columns = 24
const graphSize = { w: 8, h: 8 }
const statSize = { w: 6, h: 4 }
const datasource = { type: 'prometheus', uid: '$datasource' }

/** The JSON of the dashboard, as Grafana imports it. */
export function createGrafanaDashboard(plan: DeploymentPlan): object {
  return {
    title: `Operator ${plan.name}`,
    uid: `kopf-${plan.name}`.slice(0, 40),
    tags: ['kopf', 'operator'],
    schemaVersion: 39,
    editable: true,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        {
          name: 'job',
          label: 'Operator',
          type: 'query',
          datasource,
          query: { query: 'label_values(kopf_build_info, job)', refId: 'job' },
          current: { text: jobOf(plan), value: jobOf(plan) },
          refresh: 1,
        },
      ],
    },
    panels: placePanels(listRows(plan)),
  }
}

/** Places the panels from left to right, and each row of the dashboard below the one before. */
function placePanels(rows: readonly PanelRow[]): object[] {
  const placed: object[] = []
  let y = 0
  let id = 0
  for (const { title, panels } of rows) {
    id += 1
    placed.push({ id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: columns, h: 1 }, panels: [] })
    y += 1
    let x = 0
    let height = 0
    for (const panel of panels) {
      const { w, h } = panel.type === 'stat' ? statSize : graphSize
      if (x + w > columns || (height > 0 && h !== height)) {
        y += height
        x = 0
      }
      height = h
      id += 1
      placed.push(toPanel(panel, id, { x, y, w, h }))
      x += w
    }
    y += height
  }
  return placed
}

function toPanel({ title, description, type, unit = 'short', queries }: Panel, id: number, gridPos: object): object {
  return {
    id,
    type: type ?? 'timeseries',
    title,
    ...(description !== undefined && { description }),
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    ...(type === 'stat' && { options: { textMode: 'value_and_name', reduceOptions: { calcs: ['lastNotNull'] } } }),
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat,
    })),
  }
}
