/** Cells of workload kinds: apps, batch, autoscaling, policy. */
import type { KubeObject } from '../../kube/objects.ts'
import {
  at,
  type Cells,
  conditionStatus,
  containers,
  count,
  formatLabels,
  formatSelector,
  mapAt,
  number,
  numberAt,
  selector,
  type TableCells,
  text,
} from './cells.ts'
import { formatAge, formatDuration, parseTime } from './duration.ts'
import { formatMetrics } from './metric-cells.ts'

const readyReplicas: Cells = {
  Ready: (object) => `${numberAt(object, 'status.readyReplicas')}/${numberAt(object, 'spec.replicas')}`,
}

const template: Cells = { ...containers('spec.template.spec.containers'), Selector: selector('spec.selector') }

/** The controlling owner: `deployment.apps/web`. */
function formatController(object: KubeObject): string {
  const owner = (object.metadata.ownerReferences ?? []).find((reference) => reference.controller === true)
  if (owner === undefined) return '<none>'
  const slash = owner.apiVersion.indexOf('/')
  const kind = slash < 0 ? owner.kind : `${owner.kind}.${owner.apiVersion.slice(0, slash)}`
  return `${kind.toLowerCase()}/${owner.name}`
}

function formatCompletions(job: KubeObject): string {
  const succeeded = numberAt(job, 'status.succeeded')
  const completions = at(job, 'spec.completions')
  if (completions !== undefined) return `${succeeded}/${completions}`
  const parallelism = numberAt(job, 'spec.parallelism')
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function formatJobDuration(job: KubeObject, now: Date): string {
  const start = at(job, 'status.startTime')
  const end = at(job, 'status.completionTime')
  if (start === undefined) return ''
  const endTime = end === undefined ? now.getTime() : (parseTime(String(end)) ?? 0)
  return formatDuration(endTime - (parseTime(String(start)) ?? 0))
}

function formatJobStatus(job: KubeObject): string {
  const is = (type: string): boolean => conditionStatus(job, type) === 'True'
  if (is('Complete')) return 'Complete'
  if (is('Failed')) return 'Failed'
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(is) ?? 'Running'
}

function formatFlag(value: unknown): string {
  return value === undefined ? '<unset>' : value === true ? 'True' : 'False'
}

/** A number or percentage of pods. */
function amount(path: string): (object: KubeObject) => string {
  return (object) => String(at(object, path) ?? 'N/A')
}

export const workloadCells: TableCells = {
  'apps/deployments': {
    ...readyReplicas,
    'Up-to-date': number('status.updatedReplicas'),
    Available: number('status.availableReplicas'),
    ...template,
    // An empty selector is shown as an empty cell, unlike for other kinds.
    Selector: (deployment) => formatSelector(at(deployment, 'spec.selector')) ?? '<invalid>',
  },
  'apps/replicasets': {
    Desired: number('spec.replicas'),
    Current: number('status.replicas'),
    Ready: number('status.readyReplicas'),
    ...template,
  },
  'apps/statefulsets': { ...readyReplicas, ...template },
  'apps/daemonsets': {
    Desired: number('status.desiredNumberScheduled'),
    Current: number('status.currentNumberScheduled'),
    Ready: number('status.numberReady'),
    'Up-to-date': number('status.updatedNumberScheduled'),
    Available: number('status.numberAvailable'),
    'Node Selector': (set) => formatLabels(mapAt(set, 'spec.template.spec.nodeSelector')),
    ...template,
  },
  'apps/controllerrevisions': { Controller: formatController, Revision: number('revision') },
  'batch/jobs': {
    Status: formatJobStatus,
    Completions: formatCompletions,
    Duration: formatJobDuration,
    ...template,
  },
  'batch/cronjobs': {
    Schedule: text('spec.schedule'),
    Timezone: (job) => String(at(job, 'spec.timeZone') ?? '<none>'),
    Suspend: (job) => formatFlag(at(job, 'spec.suspend')),
    Active: count('status.active'),
    'Last Schedule': (job, now) => {
      const last = at(job, 'status.lastScheduleTime')
      return last === undefined ? '<none>' : formatAge(last, now)
    },
    ...containers('spec.jobTemplate.spec.template.spec.containers'),
    Selector: selector('spec.jobTemplate.spec.selector'),
  },
  'autoscaling/horizontalpodautoscalers': {
    Reference: (scaler) => {
      const target = mapAt(scaler, 'spec.scaleTargetRef')
      return `${target['kind'] ?? ''}/${target['name'] ?? ''}`
    },
    Targets: (scaler) => formatMetrics(scaler),
    MinPods: (scaler) => String(at(scaler, 'spec.minReplicas') ?? '<unset>'),
    MaxPods: number('spec.maxReplicas'),
    Replicas: number('status.currentReplicas'),
  },
  'autoscaling/scale': { Desired: number('spec.replicas'), Available: number('status.replicas') },
  'policy/poddisruptionbudgets': {
    'Min Available': amount('spec.minAvailable'),
    'Max Unavailable': amount('spec.maxUnavailable'),
    'Allowed Disruptions': number('status.disruptionsAllowed'),
  },
}
