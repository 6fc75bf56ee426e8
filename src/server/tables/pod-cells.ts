/** Cells of pods. Their status is not a field, but computed from all containers, in the same order as in kube-apiserver. */
import type { KubeObject } from '../../kube/objects.ts'
import { at, type Cells, conditionStatus, listAt, numberAt, type TableCells, text, textAt } from './cells.ts'
import { formatAge, parseTime } from './duration.ts'

interface Summary {
  ready: number
  restarts: number
  /** The latest end of a container that was restarted, as in the object. */
  lastRestart: string
  reason: string
}

export const podCells: TableCells = {
  '/pods': {
    Ready: (pod) => `${summarize(pod).ready}/${countContainers(pod)}`,
    Status: (pod) => statusOf(pod),
    Restarts: (pod, now) => formatRestarts(summarize(pod), now),
    IP: (pod) => textAt(listAt(pod, 'status.podIPs')[0], 'ip') || textAt(pod, 'status.podIP') || '<none>',
    Node: text('spec.nodeName', '<none>'),
    'Nominated Node': text('status.nominatedNodeName', '<none>'),
    'Readiness Gates': (pod) => formatReadinessGates(pod),
  } satisfies Cells,
}

const completed = { type: 'Completed', status: 'True' }

/** Marks rows of completed pods, so that clients can hide them. No other kind has such conditions. */
export function rowConditions(object: KubeObject): ReadonlyArray<Record<string, string>> | undefined {
  if (object.kind !== 'Pod' || object.apiVersion !== 'v1') return undefined
  const phase = textAt(object, 'status.phase')
  if (phase === 'Succeeded') return [{ ...completed, reason: phase, message: 'The pod has completed successfully.' }]
  return phase === 'Failed' ? [{ ...completed, reason: phase, message: 'The pod failed.' }] : undefined
}

function isSidecar(pod: KubeObject, name: string): boolean {
  const container = listAt(pod, 'spec.initContainers').find((candidate) => textAt(candidate, 'name') === name)
  return textAt(container, 'restartPolicy') === 'Always'
}

function countContainers(pod: KubeObject): number {
  const sidecars = listAt(pod, 'spec.initContainers').filter(
    (container) => textAt(container, 'restartPolicy') === 'Always',
  )
  return listAt(pod, 'spec.containers').length + sidecars.length
}

function statusOf(pod: KubeObject): string {
  const isDeleted = pod.metadata.deletionTimestamp !== undefined
  if (isDeleted && textAt(pod, 'status.reason') === 'NodeLost') return 'Unknown'
  const hasEnded = ['Succeeded', 'Failed'].includes(textAt(pod, 'status.phase'))
  return isDeleted && !hasEnded ? 'Terminating' : summarize(pod).reason
}

function summarize(pod: KubeObject): Summary {
  const sidecars: Summary = { ready: 0, restarts: 0, lastRestart: '', reason: '' }
  const all: Summary = { ...sidecars, reason: initialReason(pod) }
  const isInitializing = weighInitContainers(pod, all, sidecars)
  if (isInitializing && conditionStatus(pod, 'Initialized') !== 'True') return all
  // Completed init containers no longer count; sidecars do.
  const summary = { ...all, restarts: sidecars.restarts, lastRestart: sidecars.lastRestart }
  weighContainers(pod, summary)
  return summary
}

function initialReason(pod: KubeObject): string {
  const isGated = listAt(pod, 'status.conditions').some((condition) => {
    return textAt(condition, 'type') === 'PodScheduled' && textAt(condition, 'reason') === 'SchedulingGated'
  })
  return isGated ? 'SchedulingGated' : textAt(pod, 'status.reason') || textAt(pod, 'status.phase')
}

/** True if an init container keeps the pod from starting; it sets the reason. */
function weighInitContainers(pod: KubeObject, all: Summary, sidecars: Summary): boolean {
  for (const [index, container] of listAt(pod, 'status.initContainerStatuses').entries()) {
    const sidecar = isSidecar(pod, textAt(container, 'name'))
    countRestarts(container, all)
    if (sidecar) countRestarts(container, sidecars)
    if (at(container, 'state.terminated') && numberAt(container, 'state.terminated.exitCode') === 0) continue
    if (sidecar && at(container, 'started') === true) {
      if (at(container, 'ready') === true) all.ready += 1
      continue
    }
    all.reason = initReason(container, index, listAt(pod, 'spec.initContainers').length)
    return true
  }
  return false
}

function initReason(container: unknown, index: number, total: number): string {
  if (at(container, 'state.terminated')) return `Init:${terminationReason(container)}`
  const waiting = textAt(container, 'state.waiting.reason')
  return waiting === '' || waiting === 'PodInitializing' ? `Init:${index}/${total}` : `Init:${waiting}`
}

function weighContainers(pod: KubeObject, summary: Summary): void {
  let hasRunning = false
  let failure = ''
  // From last to first, so that the first container determines the reason.
  for (const container of listAt(pod, 'status.containerStatuses').toReversed()) {
    countRestarts(container, summary)
    const waiting = textAt(container, 'state.waiting.reason')
    if (waiting !== '') summary.reason = waiting
    else if (at(container, 'state.terminated')) {
      summary.reason = terminationReason(container)
      if (numberAt(container, 'state.terminated.exitCode') !== 0) failure = summary.reason
    } else if (at(container, 'ready') === true && at(container, 'state.running')) {
      hasRunning = true
      summary.ready += 1
    }
  }
  if (summary.reason !== 'Completed') return
  // Some containers have completed, others run.
  if (hasRunning && conditionStatus(pod, 'Ready') === 'True') summary.reason = 'Running'
  else if (failure !== '') summary.reason = failure
  else if (hasRunning) summary.reason = 'NotReady'
}

function terminationReason(container: unknown): string {
  const signal = numberAt(container, 'state.terminated.signal')
  const code = numberAt(container, 'state.terminated.exitCode')
  return textAt(container, 'state.terminated.reason') || (signal === 0 ? `ExitCode:${code}` : `Signal:${signal}`)
}

function countRestarts(container: unknown, summary: Summary): void {
  summary.restarts += numberAt(container, 'restartCount')
  const finished = textAt(container, 'lastState.terminated.finishedAt')
  if ((parseTime(finished) ?? 0) > (parseTime(summary.lastRestart) ?? 0)) summary.lastRestart = finished
}

function formatRestarts({ restarts, lastRestart }: Summary, now: Date): string {
  return restarts === 0 || lastRestart === '' ? `${restarts}` : `${restarts} (${formatAge(lastRestart, now)} ago)`
}

function formatReadinessGates(pod: KubeObject): string {
  const gates = listAt(pod, 'spec.readinessGates')
  const open = gates.filter((gate) => conditionStatus(pod, textAt(gate, 'conditionType')) === 'True')
  return gates.length === 0 ? '<none>' : `${open.length}/${gates.length}`
}
