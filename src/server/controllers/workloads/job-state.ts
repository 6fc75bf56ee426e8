/**
 * Computes the state of a Job from its pods: finished pods to count, whether the Job is finished, and how many pods it needs.
 * Pure.
 */

import type { JsonObject, KubeObject } from '../../../kube/objects.ts'
import { parseIndexes } from './job-indexes.ts'
import { indexKey, isIndexed, type Job, trackingFinalizer } from './job-shapes.ts'
import { isActive, isTerminating, toPod } from './pods-of-sets.ts'
import type { Pod, PodTemplateSpec, StatusCondition } from './shapes.ts'
import { formatTime, parseTime } from './times.ts'

const firstBackoffMs = 10_000
const maxBackoffMs = 600_000

export function isCounted({ metadata }: Pod): boolean {
  return !metadata.finalizers?.includes(trackingFinalizer)
}

/** A pod deleted before it finishes has failed, unless `podReplacementPolicy: Failed` requires waiting for its final phase. */
export function hasFailed({ spec }: Job, pod: Pod): boolean {
  if (pod.status.phase === 'Failed') return true
  return spec.podReplacementPolicy !== 'Failed' && isTerminating(pod) && pod.status.phase !== 'Succeeded'
}

function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[indexKey] ?? -1)
}

/** Finished pods that still have the tracking finalizer. */
export interface FinishedPods {
  readonly succeeded: readonly Pod[]
  readonly failed: readonly Pod[]
}

export function newlyFinished(job: Job, pods: readonly Pod[]): FinishedPods {
  const uncounted = pods.filter((pod) => !isCounted(pod))
  const completed = isIndexed(job) ? parseIndexes(job.status.completedIndexes) : undefined
  const succeeded = uncounted.filter(({ status }) => status.phase === 'Succeeded')
  return {
    // Each index counts once, even if several pods completed it.
    succeeded: completed === undefined ? succeeded : succeeded.filter((pod) => !completed.has(indexOf(pod))),
    failed: uncounted.filter((pod) => hasFailed(job, pod)),
  }
}

/** Number of successes: of indexes in an indexed Job, otherwise of pods. */
function succeededIn(job: Job, pods: readonly Pod[]): number {
  if (!isIndexed(job)) return (job.status.succeeded ?? 0) + newlyFinished(job, pods).succeeded.length
  return completedIndexes(job, pods).size
}

export function completedIndexes(job: Job, pods: readonly Pod[]): Set<number> {
  const indexes = parseIndexes(job.status.completedIndexes)
  for (const pod of newlyFinished(job, pods).succeeded) indexes.add(indexOf(pod))
  return new Set([...indexes].filter((index) => index >= 0 && index < (job.spec.completions ?? 0)))
}

export interface FinishCondition {
  readonly type: 'FailureTarget' | 'SuccessCriteriaMet'
  readonly reason: string
  readonly message: string
}

/** The condition that ends the Job; undefined while it continues. */
export function finishConditionOf(job: Job, pods: readonly Pod[], nowMs: number): FinishCondition | undefined {
  const known = job.status.conditions?.find(({ type }) => type === 'FailureTarget' || type === 'SuccessCriteriaMet')
  if (known !== undefined) return known as StatusCondition & FinishCondition
  const failed = (job.status.failed ?? 0) + newlyFinished(job, pods).failed.length
  if (failed > job.spec.backoffLimit || hasRestartedTooOften(job, pods)) {
    const message = 'Job has reached the specified backoff limit'
    return { type: 'FailureTarget', reason: 'BackoffLimitExceeded', message }
  }
  if ((deadlineOf(job) ?? Infinity) <= nowMs) {
    const message = 'Job was active longer than specified deadline'
    return { type: 'FailureTarget', reason: 'DeadlineExceeded', message }
  }
  if (!isComplete(job, pods)) return undefined
  const message = 'Reached expected number of succeeded pods'
  return { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message }
}

function isComplete(job: Job, pods: readonly Pod[]): boolean {
  if (pods.some(isActive)) return false
  return succeededIn(job, pods) >= (job.spec.completions ?? 1)
}

/** For restartPolicy OnFailure: the containers are restarted instead of the pods being replaced. */
function hasRestartedTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if (spec.template.spec['restartPolicy'] !== 'OnFailure') return false
  const restarts = pods
    .filter(({ status }) => status.phase === 'Running' || status.phase === 'Pending')
    .flatMap(({ status }) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0)
  return spec.backoffLimit === 0 ? restarts > 0 : restarts >= spec.backoffLimit
}

export function deadlineOf({ spec, status }: Job): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined || spec.suspend) return undefined
  return parseTime(status.startTime) + spec.activeDeadlineSeconds * 1000
}

/** Number of pods that should be active now. */
export function desiredActive(job: Job, pods: readonly Pod[]): number {
  const { completions, parallelism, suspend, podReplacementPolicy } = job.spec
  if (suspend) return 0
  const succeeded = succeededIn(job, pods)
  const active = pods.filter(isActive).length
  // Without `completions`, the first success completes the Job: no new pods are created, and running pods may finish.
  if (completions === undefined) return succeeded > 0 ? active : parallelism
  const terminating = podReplacementPolicy === 'Failed' ? pods.filter((pod) => isTerminating(pod)).length : 0
  const desired = Math.max(0, Math.min(completions - succeeded, parallelism))
  return desired > active ? Math.max(active, desired - terminating) : desired
}

/** Earliest time for the next pod: exponential backoff over consecutive failures. */
export function backoffUntil(pods: readonly Pod[]): number {
  const successMs = Math.max(0, ...pods.filter(({ status }) => status.phase === 'Succeeded').map(finishedAt))
  const failures = pods
    .filter(({ status }) => status.phase === 'Failed')
    .map(finishedAt)
    .filter((ms) => ms > successMs)
  if (failures.length === 0) return 0
  return Math.max(...failures) + Math.min(firstBackoffMs * 2 ** (failures.length - 1), maxBackoffMs)
}

function finishedAt({ status, metadata }: Pod): number {
  const ended = (status.containerStatuses ?? []).flatMap(({ state }) => state.terminated?.finishedAt ?? [])
  if (ended.length > 0) return Math.max(...ended.map(parseTime))
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  return parseTime(ready?.lastTransitionTime ?? metadata.deletionTimestamp ?? metadata.creationTimestamp)
}

/** Indexes without an active or succeeded pod, lowest first. */
export function missingIndexes(job: Job, pods: readonly Pod[], count: number): number[] {
  const taken = completedIndexes(job, pods)
  for (const pod of pods.filter(isActive)) taken.add(indexOf(pod))
  const missing: number[] = []
  for (let index = 0; index < job.spec.completions! && missing.length < count; index += 1) {
    if (!taken.has(index)) missing.push(index)
  }
  return missing
}

/** A new pod of the Job, with an index for indexed Jobs. */
export function toJobPod(job: Job, index?: number): KubeObject {
  const { metadata = {}, spec } = job.spec.template
  const finalizers = [...(metadata.finalizers ?? []), trackingFinalizer]
  if (index === undefined) return toPod(job, { metadata: { ...metadata, finalizers }, spec })
  const numbered: PodTemplateSpec = {
    metadata: {
      labels: { ...metadata.labels, [indexKey]: String(index) },
      annotations: { ...metadata.annotations, [indexKey]: String(index) },
      finalizers,
    },
    spec: { ...spec, hostname: `${job.metadata.name}-${index}`, ...withIndexVariable(spec) },
  }
  const pod = toPod(job, numbered)
  return { ...pod, metadata: { ...pod.metadata, generateName: `${job.metadata.name}-${index}-` } }
}

const indexVariable = {
  name: 'JOB_COMPLETION_INDEX',
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${indexKey}']` } },
}

function withIndexVariable(spec: JsonObject): JsonObject {
  const extend = (containers: unknown) =>
    (containers as JsonObject[]).map((container) => {
      const env = (container['env'] ?? []) as JsonObject[]
      const isKnown = env.some(({ name }) => name === indexVariable.name)
      return isKnown ? container : { ...container, env: [...env, indexVariable] }
    })
  const { containers, initContainers } = spec
  return { containers: extend(containers), ...(initContainers && { initContainers: extend(initContainers) }) }
}

export function dated(condition: StatusCondition, nowMs: number): StatusCondition {
  const now = formatTime(nowMs)
  return { ...condition, lastProbeTime: now, lastTransitionTime: now }
}
