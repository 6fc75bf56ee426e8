/** Computes the next steps of a StatefulSet, in ordinal order, and its status. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isActive, isAvailable, isFinished, isReady, isTerminating, toPod } from './pods-of-sets.ts'
import type { Pod, PodTemplateSpec } from './shapes.ts'

export interface StatefulSet extends KubeObject {
  spec: {
    readonly replicas: number
    readonly serviceName?: string
    readonly minReadySeconds?: number
    readonly podManagementPolicy?: string
    readonly ordinals?: { readonly start?: number }
    readonly updateStrategy: { readonly type: string; readonly rollingUpdate?: { readonly partition?: number } }
    readonly revisionHistoryLimit?: number
    readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> }
    readonly template: PodTemplateSpec
    readonly volumeClaimTemplates?: ReadonlyArray<KubeObject & { readonly spec: object }>
  }
  status: StatefulSetStatus
}

export interface StatefulSetStatus {
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly currentReplicas?: number
  readonly updatedReplicas?: number
  readonly currentRevision?: string
  readonly updateRevision?: string
  readonly collisionCount?: number
  readonly observedGeneration?: number
}

export const revisionLabel = 'controller-revision-hash'

export function ordinalOf(set: StatefulSet, { metadata }: KubeObject): number {
  const [, name, ordinal] = /^(.*)-(\d+)$/.exec(metadata.name ?? '') ?? []
  return name === set.metadata.name ? Number(ordinal) : -1
}

export type PodAction =
  | { readonly type: 'create'; readonly ordinal: number }
  | { readonly type: 'delete'; readonly pod: Pod }

interface StatefulSetState {
  readonly pods: readonly Pod[]
  /** Name of the update revision. */
  readonly update: string
  readonly nowMs: number
}

/** The steps to do now. With OrderedReady, at most one step, and none until the previous pod is available. */
export function nextPodActions(set: StatefulSet, { pods, update, nowMs }: StatefulSetState): PodAction[] {
  const { replicas, ordinals, podManagementPolicy, minReadySeconds = 0 } = set.spec
  const start = ordinals?.start ?? 0
  const isParallel = podManagementPolicy === 'Parallel'
  const isHealthy = (pod: Pod) => isActive(pod) && isAvailable(pod, minReadySeconds, nowMs)
  const steps: PodAction[] = []
  for (let ordinal = start; ordinal < start + replicas; ordinal += 1) {
    const pod = pods.find((one) => ordinalOf(set, one) === ordinal)
    if (pod === undefined) steps.push({ type: 'create', ordinal })
    else if (isFinished(pod) && !isTerminating(pod)) steps.push({ type: 'delete', pod })
    else if (isHealthy(pod) || isParallel) continue
    if (!isParallel) return steps.slice(0, 1)
  }
  const ordinal = (pod: Pod) => ordinalOf(set, pod)
  const beyond = pods.filter((pod) => ordinal(pod) < start || ordinal(pod) >= start + replicas)
  for (const pod of [...beyond].sort((one, other) => ordinal(other) - ordinal(one))) {
    if (!isTerminating(pod)) steps.push({ type: 'delete', pod })
    if (!isParallel) return steps.slice(0, 1)
  }
  return steps.length > 0 ? steps : outdated(set, { pods, update, nowMs })
}

/** Replaces outdated pods one at a time, from the highest ordinal down to the partition. */
function outdated(set: StatefulSet, { pods, update, nowMs }: StatefulSetState): PodAction[] {
  const { updateStrategy, ordinals, minReadySeconds = 0 } = set.spec
  if (updateStrategy.type !== 'RollingUpdate') return []
  const lowest = (ordinals?.start ?? 0) + (updateStrategy.rollingUpdate?.partition ?? 0)
  for (const pod of [...pods].sort((one, other) => ordinalOf(set, other) - ordinalOf(set, one))) {
    if (ordinalOf(set, pod) < lowest) return []
    if (pod.metadata.labels?.[revisionLabel] !== update && !isTerminating(pod)) return [{ type: 'delete', pod }]
    if (!isActive(pod) || !isAvailable(pod, minReadySeconds, nowMs)) return []
  }
  return []
}

/** True if a new pod still gets the current (old) revision, because its ordinal is below the partition. */
export function isOfCurrent({ spec }: StatefulSet, ordinal: number): boolean {
  const { partition = 0 } = spec.updateStrategy.rollingUpdate ?? {}
  return spec.updateStrategy.type === 'RollingUpdate' && ordinal < (spec.ordinals?.start ?? 0) + partition
}

export function toStatefulPod(
  set: StatefulSet,
  template: PodTemplateSpec,
  options: { ordinal: number; revision: string },
): KubeObject {
  const { ordinal, revision } = options
  const name = `${set.metadata.name}-${ordinal}`
  const labels = {
    ...template.metadata?.labels,
    [revisionLabel]: revision,
    'apps.kubernetes.io/pod-index': String(ordinal),
    'statefulset.kubernetes.io/pod-name': name,
  }
  const pod = toPod(set, { ...template, metadata: { ...template.metadata, labels } })
  const given = (template.spec['volumes'] ?? []) as Array<{ readonly name: string }>
  const claims = (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name!,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }))
  const others = given.filter((volume) => !claims.some((claim) => claim.name === volume.name))
  const { serviceName } = set.spec
  return {
    ...pod,
    metadata: { ...pod.metadata, name },
    spec: {
      ...template.spec,
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
      volumes: [...claims, ...others],
    },
  }
}

/** The new claims of one pod. */
export function toClaims(set: StatefulSet, ordinal: number): KubeObject[] {
  const { name, namespace = '' } = set.metadata
  const { matchLabels } = set.spec.selector
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata, spec }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...metadata,
      name: `${metadata.name}-${name}-${ordinal}`,
      namespace,
      labels: { ...metadata.labels, ...matchLabels },
    },
    spec: { ...spec },
  }))
}

export function statefulStatus(
  set: StatefulSet,
  situation: StatefulSetState & { readonly current: string },
): StatefulSetStatus {
  const { pods, update, current, nowMs } = situation
  const { replicas, minReadySeconds = 0, updateStrategy } = set.spec
  const active = pods.filter(isActive)
  const of = (revision: string) => active.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length
  const readyReplicas = active.filter((pod) => pod.status.phase === 'Running' && isReady(pod)).length
  const updatedReplicas = of(update)
  const isDone =
    updateStrategy.type === 'RollingUpdate' &&
    updatedReplicas === active.length &&
    readyReplicas === active.length &&
    active.length === replicas
  const currentRevision = isDone ? update : current
  return {
    observedGeneration: set.metadata.generation!,
    replicas: pods.filter((pod) => !isFinished(pod)).length,
    readyReplicas,
    availableReplicas: active.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    currentReplicas: of(currentRevision),
    updatedReplicas,
    currentRevision,
    updateRevision: update,
    collisionCount: set.status.collisionCount ?? 0,
  }
}
