/** Helpers for all controllers that create pods: a pod from a template, and predicates on pods. Pure. */

import type { KubeObject } from '../../../kube/objects.ts'
import { subdomainNameProblems } from '../../names.ts'
import { controllerReference } from './reading.ts'
import type { Pod, PodTemplateSpec } from './shapes.ts'
import { parseTime } from './times.ts'

/** A pod for creation; the server generates the suffix of the name. */
export function toPod(owner: KubeObject, { metadata = {}, spec }: PodTemplateSpec): KubeObject {
  const { name = '', namespace = '' } = owner.metadata
  const { labels, annotations, finalizers } = metadata
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: podPrefix(name),
      namespace,
      ...(labels && { labels: { ...labels } }),
      ...(annotations && { annotations: { ...annotations } }),
      ...(finalizers && { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: { ...spec },
  }
}

/** The dash is omitted if the prefix would be invalid with it. */
function podPrefix(name: string): string {
  return subdomainNameProblems(`${name}-`, true).length === 0 ? `${name}-` : name
}

export function isFinished({ status }: Pod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed'
}

export function isTerminating({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Neither finished nor terminating: the pods that count as replicas. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isTerminating(pod)
}

export function conditionOf(
  { status }: Pod,
  type: string,
): NonNullable<Pod['status']['conditions']>[number] | undefined {
  return status?.conditions?.find((condition) => condition.type === type)
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, 'Ready')?.status === 'True'
}

/** Since when the pod is ready; undefined if it is not. */
function readySince(pod: Pod): number | undefined {
  const ready = conditionOf(pod, 'Ready')
  return ready?.status === 'True' ? parseTime(ready.lastTransitionTime) : undefined
}

/** True if the pod has been ready for at least minReadySeconds. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const sinceMs = readySince(pod)
  return sinceMs !== undefined && (minReadySeconds === 0 || sinceMs + minReadySeconds * 1000 <= nowMs)
}

/** When the next pod becomes available; undefined if none will. */
export function nextAvailable(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  if (minReadySeconds === 0) return undefined
  const due = pods
    .map((pod) => readySince(pod))
    .flatMap((sinceMs) => (sinceMs === undefined ? [] : [sinceMs + minReadySeconds * 1000]))
    .filter((atMs) => atMs > nowMs)
  return due.length === 0 ? undefined : Math.min(...due)
}

/**
 * Sorts pods for deletion: unscheduled and pending pods first, then pods that are not ready, then by deletion cost, then the
 * newest.
 */
export function byDeletionOrder(one: Pod, other: Pod): number {
  return (
    Number(Boolean(one.spec.nodeName)) - Number(Boolean(other.spec.nodeName)) ||
    rankOfPhase(one) - rankOfPhase(other) ||
    Number(isReady(one)) - Number(isReady(other)) ||
    deletionCost(one) - deletionCost(other) ||
    (readySince(other) ?? 0) - (readySince(one) ?? 0) ||
    restarts(other) - restarts(one) ||
    parseTime(other.metadata.creationTimestamp) - parseTime(one.metadata.creationTimestamp)
  )
}

function rankOfPhase({ status }: Pod): number {
  return ['Pending', 'Unknown', 'Running'].indexOf(status.phase)
}

function deletionCost({ metadata }: Pod): number {
  const cost = Number(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0)
  return Number.isInteger(cost) ? cost : 0
}

function restarts({ status }: Pod): number {
  return Math.max(0, ...(status.containerStatuses ?? []).map(({ restartCount }) => restartCount))
}
