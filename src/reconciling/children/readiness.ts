/** Decides by kind whether a child is ready, so that the next group can be applied. Used where a group has no `ready` function. Called by plan.ts. Pure. */
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

type ReadinessFields = Readonly<Record<string, unknown>>

const byKind: Readonly<Record<string, (spec: ReadinessFields, status: ReadinessFields) => boolean>> = {
  'apps/Deployment': (spec, status) => {
    const desired = count(spec['replicas'], 1)
    return count(status['updatedReplicas']) >= desired && count(status['availableReplicas']) >= desired
  },
  'apps/StatefulSet': (spec, status) => {
    const desired = count(spec['replicas'], 1)
    if (count(status['readyReplicas']) < desired) return false
    const { type, rollingUpdate } = fields(spec['updateStrategy'])
    // Pods below the partition, and all pods with OnDelete, are not updated by the controller.
    const kept = type === 'OnDelete' ? desired : count(fields(rollingUpdate)['partition'])
    return count(status['updatedReplicas']) >= desired - kept
  },
  'apps/DaemonSet': (_, status) => {
    const desired = count(status['desiredNumberScheduled'])
    return count(status['updatedNumberScheduled']) >= desired && count(status['numberAvailable']) >= desired
  },
  'batch/Job': (_, status) => isTrue(status, 'Complete'),
  '/PersistentVolumeClaim': (_, status) => status['phase'] === 'Bound',
  'apiextensions.k8s.io/CustomResourceDefinition': (_, status) => isTrue(status, 'Established'),
}

/** Kinds whose controller always sets `status.observedGeneration`: without it, the controller has not processed the object yet. */
const observed = new Set(['apps/Deployment', 'apps/StatefulSet', 'apps/DaemonSet'])

/** An existing child of a kind without rules and without a `Ready` condition is ready. */
export function isReady(child: KubeObject): boolean {
  const { metadata, apiVersion, kind } = child
  if (metadata.deletionTimestamp !== undefined) return false
  const status = fields(child['status'])
  const name = `${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}/${kind}`
  const generation = status['observedGeneration']
  if (typeof generation === 'number' ? generation < (metadata.generation ?? 0) : observed.has(name)) return false
  const isReadyKind = byKind[name]
  if (isReadyKind !== undefined) return isReadyKind(fields(child['spec']), status)
  return conditionOf(status, 'Ready') === undefined || isTrue(status, 'Ready')
}

function isTrue(status: ReadinessFields, type: string): boolean {
  return conditionOf(status, type)?.['status'] === 'True'
}

function conditionOf({ conditions }: ReadinessFields, type: string): ReadinessFields | undefined {
  return Array.isArray(conditions) ? conditions.find((one) => isPlainObject(one) && one['type'] === type) : undefined
}

function fields(value: unknown): ReadinessFields {
  return isPlainObject(value) ? value : {}
}

function count(value: unknown, byDefault: number = 0): number {
  return typeof value === 'number' ? value : byDefault
}
