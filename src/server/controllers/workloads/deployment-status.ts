/** Computes the status of a Deployment from its ReplicaSets: replica counts and the Progressing condition. Pure. */
import { setCondition, withoutCondition } from './conditions.ts'
import { type Deployment, type DeploymentStatus, hasDeadline } from './deployment-shapes.ts'
import { rolloutLimits } from './rollout.ts'
import type { ReplicaSet, StatusCondition } from './shapes.ts'
import { formatTime, parseTime } from './times.ts'

export interface Sets {
  readonly newest: ReplicaSet | undefined
  readonly old: readonly ReplicaSet[]
}

/** `isRollout` is false if only the counts are updated: while the Deployment is paused, scaled or deleted. */
export function deploymentStatus(
  deployment: Deployment,
  sets: Sets,
  { nowMs, isRollout }: { readonly nowMs: number; readonly isRollout: boolean },
): DeploymentStatus {
  const counted = countReplicas(deployment, sets)
  const availability = availabilityOf(deployment, counted)
  const before = setUpdatedCondition(deployment.status.conditions ?? [], availability, nowMs)
  const status = { ...counted, conditions: before }
  const after = isRollout ? withProgress(deployment, sets, { status, nowMs }) : before
  return { ...counted, conditions: isRollout ? withFailures(after, sets, nowMs) : after }
}

function countReplicas(deployment: Deployment, { newest, old }: Sets): DeploymentStatus {
  const all = newest === undefined ? old : [...old, newest]
  const sum = (count: (status: ReplicaSet['status']) => number | undefined) =>
    all.reduce((total, { status }) => total + (count(status) ?? 0), 0)
  const replicas = sum((status) => status.replicas)
  const availableReplicas = sum((status) => status.availableReplicas)
  const { collisionCount } = deployment.status
  return {
    observedGeneration: deployment.metadata.generation!,
    replicas,
    updatedReplicas: newest?.status.replicas ?? 0,
    readyReplicas: sum((status) => status.readyReplicas),
    availableReplicas,
    unavailableReplicas: Math.max(0, replicas - availableReplicas),
    terminatingReplicas: sum((status) => status.terminatingReplicas),
    ...(collisionCount !== undefined && { collisionCount }),
  }
}

function availabilityOf(deployment: Deployment, { availableReplicas = 0 }: DeploymentStatus): StatusCondition {
  const minimum = deployment.spec.replicas - rolloutLimits(deployment).unavailable
  return availableReplicas >= minimum
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
    : condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.')
}

function condition(type: string, status: string, reason: string, message: string): StatusCondition {
  return { type, status, reason, message }
}

/** Conditions of Deployments also have a lastUpdateTime. */
export function setUpdatedCondition(
  known: readonly StatusCondition[],
  given: StatusCondition,
  nowMs: number,
): readonly StatusCondition[] {
  return setCondition(known, { ...given, lastUpdateTime: formatTime(nowMs) }, nowMs)
}

export function progressOf({ conditions = [] }: DeploymentStatus): StatusCondition | undefined {
  return conditions.find(({ type }) => type === 'Progressing')
}

export function isComplete({ spec, metadata }: Deployment, status: DeploymentStatus): boolean {
  const counts = [status.updatedReplicas, status.replicas, status.availableReplicas]
  return counts.every((count) => count === spec.replicas) && (status.observedGeneration ?? 0) >= metadata.generation!
}

interface ProgressInput {
  readonly status: DeploymentStatus
  readonly nowMs: number
}

function withProgress(
  deployment: Deployment,
  { newest }: Sets,
  { status, nowMs }: ProgressInput,
): readonly StatusCondition[] {
  const known = status.conditions ?? []
  if (!hasDeadline(deployment)) return withoutCondition(known, 'Progressing')
  const current = progressOf(deployment.status)
  if (status.replicas === status.updatedReplicas && current?.reason === 'NewReplicaSetAvailable') return known
  const subject =
    newest === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${newest.metadata.name}"`
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`
    return setUpdatedCondition(known, condition('Progressing', 'True', 'NewReplicaSetAvailable', message), nowMs)
  }
  if (hasProgressed(deployment.status, status)) {
    const fresh = condition('Progressing', 'True', 'ReplicaSetUpdated', `${subject} is progressing.`)
    // A new lastUpdateTime restarts the progress deadline.
    return setUpdatedCondition(withoutCondition(known, 'Progressing'), { ...fresh }, nowMs).map((one) =>
      one.type === 'Progressing' && current?.status === 'True'
        ? { ...one, lastTransitionTime: current.lastTransitionTime! }
        : one,
    )
  }
  if (!isTimedOut(deployment, nowMs)) return known
  const message = `${subject} has timed out progressing.`
  return setUpdatedCondition(known, condition('Progressing', 'False', 'ProgressDeadlineExceeded', message), nowMs)
}

function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const outdated = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    outdated(after) < outdated(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/** When the progress deadline expires; undefined if there is none or if it does not apply now. */
export function deadlineOf(deployment: Deployment): number | undefined {
  const progress = progressOf(deployment.status)
  if (!hasDeadline(deployment) || progress === undefined || deployment.spec.paused) return undefined
  if (progress.reason === 'NewReplicaSetAvailable' || progress.reason === 'ProgressDeadlineExceeded') return undefined
  return parseTime(progress.lastUpdateTime) + deployment.spec.progressDeadlineSeconds! * 1000
}

function isTimedOut(deployment: Deployment, nowMs: number): boolean {
  const deadlineMs = deadlineOf(deployment)
  if (progressOf(deployment.status)?.reason === 'ProgressDeadlineExceeded') return true
  return deadlineMs !== undefined && deadlineMs < nowMs
}

/** Copies the ReplicaFailure condition of a ReplicaSet, the newest one first. */
function withFailures(
  known: readonly StatusCondition[],
  { newest, old }: Sets,
  nowMs: number,
): readonly StatusCondition[] {
  const all = newest === undefined ? old : [newest, ...old]
  const failure = all
    .flatMap(({ status }) => status.conditions ?? [])
    .find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
  if (failure === undefined) return withoutCondition(known, 'ReplicaFailure')
  const { reason = '', message = '' } = failure
  return setUpdatedCondition(known, condition('ReplicaFailure', 'True', reason, message), nowMs)
}

/** A paused Deployment has no progress deadline; resuming restarts it. */
export function pauseCondition(deployment: Deployment): StatusCondition | undefined {
  const progress = progressOf(deployment.status)
  if (!hasDeadline(deployment) || progress?.reason === 'ProgressDeadlineExceeded') return undefined
  const isPausedNow = progress?.reason === 'DeploymentPaused'
  if (deployment.spec.paused && !isPausedNow) {
    return condition('Progressing', 'Unknown', 'DeploymentPaused', 'Deployment is paused')
  }
  if (!deployment.spec.paused && isPausedNow) {
    return condition('Progressing', 'Unknown', 'DeploymentResumed', 'Deployment is resumed')
  }
  return undefined
}
