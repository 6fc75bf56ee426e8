/**
 * Simulates a pod on its node: computes the next status from the current status, the behaviour and the time. All containers
 * behave alike. Pure.
 */
import { grammar, type PodBehaviour, terminationOfRun } from './behaviour.ts'
import { podConditions } from './pod-conditions.ts'
import type { ContainerState, ContainerStatus, Pod } from './shapes.ts'
import { formatTime, parseTime } from './times.ts'

export interface PodContext {
  /** Undefined if the annotation is invalid. */
  readonly behaviour: PodBehaviour | undefined
  readonly nowMs: number
  /** Number of failed pods of the same owner and index before this pod. */
  readonly failures: number
  readonly podIP: string
  readonly hostIP: string
}

export interface SimulatedPod {
  readonly status: Pod['status']
  /** When the status changes next; undefined if it does not. */
  readonly dueMs: number | undefined
}

/** The state shared by all containers of the pod. */
interface ContainerRun {
  readonly state: ContainerState
  readonly lastState: ContainerState
  readonly restartCount: number
  readonly isReady: boolean
  readonly dueMs?: number | undefined
}

const maxBackoffMs = 300_000

export function simulatePod(pod: Pod, context: PodContext): SimulatedPod {
  const { nowMs, podIP, hostIP } = context
  const startTime = pod.status.startTime ?? formatTime(nowMs)
  const deadlineMs = parseTime(startTime) + (pod.spec.activeDeadlineSeconds ?? Infinity) * 1000
  if (deadlineMs <= nowMs) return { status: pastDeadline(pod, nowMs), dueMs: undefined }
  const run = nextRun(pod, context, parseTime(startTime))
  const phase = phaseOf(pod, run)
  const isStarted = phase !== 'Pending'
  const status = {
    ...pod.status,
    phase,
    startTime,
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(isStarted && { podIP: pod.status.podIP ?? podIP, podIPs: [{ ip: pod.status.podIP ?? podIP }] }),
    containerStatuses: pod.spec.containers.map((container) => toStatus(container, run)),
    ...(pod.spec.initContainers && { initContainerStatuses: initStatuses(pod, run) }),
  }
  const conditions = podConditions({ ...pod, status }, { isStarted, isReady: run.isReady, nowMs })
  const dueMs = Math.min(run.dueMs ?? Infinity, phase === 'Running' || phase === 'Pending' ? deadlineMs : Infinity)
  return { status: { ...status, conditions }, dueMs: dueMs === Infinity ? undefined : dueMs }
}

function nextRun(pod: Pod, { behaviour, nowMs, failures }: PodContext, startedMs: number): ContainerRun {
  const [known] = pod.status.containerStatuses ?? []
  const { restartCount = 0, lastState = {} } = known ?? {}
  const waiting = (reason: string, message: string, dueMs?: number): ContainerRun => {
    return {
      state: { waiting: { reason, ...(message && { message }) } },
      lastState,
      restartCount,
      isReady: false,
      dueMs,
    }
  }
  if (behaviour === undefined)
    return waiting('InvalidBehaviour', `Cannot understand the annotation kopf.dev/pod: ${grammar}`)
  const { startAfterMs } = behaviour
  if (startAfterMs === Infinity)
    return waiting('ImagePullBackOff', `Back-off pulling image "${pod.spec.containers[0]?.image}"`)
  if (known?.state.terminated && !known.state.running)
    return { state: known.state, lastState, restartCount, isReady: false }
  if (known?.state.running) return continueRun(pod, known, { behaviour, nowMs, failures })
  if (lastState.terminated) return restart(pod, { restartCount, lastState }, { behaviour, nowMs, failures })
  if (startedMs + startAfterMs > nowMs) return waiting('ContainerCreating', '', startedMs + startAfterMs)
  const state = { running: { startedAt: formatTime(nowMs) } }
  return continueRun(pod, { state, lastState, restartCount }, { behaviour, nowMs, failures })
}

type ContainerProgress = Pick<ContainerStatus, 'state' | 'lastState' | 'restartCount'>

interface SimulationInput {
  readonly behaviour: PodBehaviour
  readonly nowMs: number
  readonly failures: number
}

/** Continues a running container: it may become ready or terminate. */
function continueRun(
  pod: Pod,
  { state, lastState, restartCount }: ContainerProgress,
  { behaviour, nowMs, failures }: SimulationInput,
): ContainerRun {
  const startedMs = parseTime(state.running!.startedAt)
  const end = terminationOfRun(behaviour, failures + restartCount, pod.spec.restartPolicy)
  const readyMs = startedMs + behaviour.readyAfterMs
  const endMs = end === undefined ? Infinity : startedMs + end.afterMs
  if (end === undefined || endMs > nowMs) {
    const isReady = readyMs <= nowMs
    const dueMs = Math.min(isReady ? Infinity : readyMs, endMs)
    return { state, lastState, restartCount, isReady, dueMs: dueMs === Infinity ? undefined : dueMs }
  }
  const { exitCode } = end
  const terminated = {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt: state.running!.startedAt,
    finishedAt: formatTime(nowMs),
  }
  const { restartPolicy } = pod.spec
  if (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && exitCode === 0)) {
    return { state: { terminated }, lastState, restartCount, isReady: false }
  }
  return restart(pod, { restartCount, lastState: { terminated } }, { behaviour, nowMs, failures })
}

/** The first restart is immediate; later restarts back off exponentially. */
function restart(
  pod: Pod,
  before: Omit<ContainerProgress, 'state'>,
  { behaviour, nowMs, failures }: SimulationInput,
): ContainerRun {
  const { restartCount, lastState } = before
  const delayMs = restartCount === 0 ? 0 : Math.min(10_000 * 2 ** (restartCount - 1), maxBackoffMs)
  const dueMs = parseTime(lastState.terminated!.finishedAt) + delayMs
  if (dueMs <= nowMs) {
    const state = { running: { startedAt: formatTime(nowMs) } }
    return continueRun(pod, { state, lastState, restartCount: restartCount + 1 }, { behaviour, nowMs, failures })
  }
  const message = `back-off ${delayMs / 1000}s restarting failed container=${pod.spec.containers[0]?.name} pod=${pod.metadata.name}`
  return { state: { waiting: { reason: 'CrashLoopBackOff', message } }, lastState, restartCount, isReady: false, dueMs }
}

function phaseOf({ status }: Pod, { state, lastState }: ContainerRun): string {
  if (state.terminated) return state.terminated.exitCode === 0 ? 'Succeeded' : 'Failed'
  if (state.running || lastState.terminated) return 'Running'
  return status.phase
}

function toStatus(
  { name, image = '' }: Pod['spec']['containers'][number],
  { state, lastState, restartCount, isReady }: ContainerRun,
): ContainerStatus {
  const isStarted = state.running !== undefined
  const id = isStarted || state.terminated ? { containerID: `embedded://${name}` } : {}
  return { name, image, imageID: '', ready: isReady, started: isStarted, restartCount, state, lastState, ...id }
}

/** Init containers have completed when the main containers start. Sidecars run beside them. */
function initStatuses({ spec }: Pod, run: ContainerRun): ContainerStatus[] {
  return (spec.initContainers ?? []).map((container) => {
    const isSidecar = (container as { restartPolicy?: string }).restartPolicy === 'Always'
    const startedAt = run.state.running?.startedAt
    if (isSidecar || startedAt === undefined) return toStatus(container, run)
    const state = { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt: startedAt } }
    return toStatus(container, { state, lastState: {}, restartCount: 0, isReady: true })
  })
}

function pastDeadline(pod: Pod, nowMs: number): Pod['status'] {
  const message = 'Pod was active on the node longer than the specified deadline'
  return { ...stopped(pod, nowMs), phase: 'Failed', reason: 'DeadlineExceeded', message }
}

/** The status after SIGTERM: containers that have not terminated yet exit with 143. */
export function stopped(pod: Pod, nowMs: number): Pod['status'] {
  const finishedAt = formatTime(nowMs)
  const containerStatuses = (pod.status.containerStatuses ?? []).map((container) => {
    const { startedAt = finishedAt } = container.state.running ?? {}
    const terminated = { exitCode: 143, reason: 'Error', startedAt, finishedAt }
    return container.state.terminated ? container : { ...container, ready: false, state: { terminated } }
  })
  const status = { ...pod.status, phase: 'Failed', containerStatuses }
  return { ...status, conditions: podConditions({ ...pod, status }, { isStarted: true, isReady: false, nowMs }) }
}
