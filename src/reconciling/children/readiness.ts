/**
 * Whether a child is as far as those that come after it need it: what is assumed of each kind, where the group has no predicate
 * of its own. Pure.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'

type ReadinessFields = Readonly<Record<string, unknown>>

const byKind: Readonly<Record<string, (spec: ReadinessFields, status: ReadinessFields) => boolean>> = {
  'apps/Deployment': (spec, status) => {
    const wanted = count(spec['replicas'], 1)
    return count(status['updatedReplicas']) >= wanted && count(status['availableReplicas']) >= wanted
  },
  'apps/StatefulSet': (spec, status) => {
    const wanted = count(spec['replicas'], 1)
    if (count(status['readyReplicas']) < wanted) return false
    const { type, rollingUpdate } = fields(spec['updateStrategy'])
    // Pods below the partition, or all of them, are left as they are until somebody says so.
    const kept = type === 'OnDelete' ? wanted : count(fields(rollingUpdate)['partition'])
    return count(status['updatedReplicas']) >= wanted - kept
  },
  'apps/DaemonSet': (_, status) => {
    const wanted = count(status['desiredNumberScheduled'])
    return count(status['updatedNumberScheduled']) >= wanted && count(status['numberAvailable']) >= wanted
  },
  'batch/Job': (_, status) => isTrue(status, 'Complete'),
  '/PersistentVolumeClaim': (_, status) => status['phase'] === 'Bound',
  'apiextensions.k8s.io/CustomResourceDefinition': (_, status) => isTrue(status, 'Established'),
}

/** Kinds whose status always says which generation it is of: without it, nobody has looked at them yet. */
const observed = new Set(['apps/Deployment', 'apps/StatefulSet', 'apps/DaemonSet'])

/** Of a kind that says nothing of being ready, what is there is ready. */
export function isReady(child: KubeObject): boolean {
  const { metadata, apiVersion, kind } = child
  if (metadata.deletionTimestamp !== undefined) return false
  const status = fields(child['status'])
  const name = `${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}/${kind}`
  const generation = status['observedGeneration']
  if (typeof generation === 'number' ? generation < (metadata.generation ?? 0) : observed.has(name)) return false
  const judge = byKind[name]
  if (judge !== undefined) return judge(fields(child['spec']), status)
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
