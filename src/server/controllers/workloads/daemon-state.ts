/** Computes the pods that a DaemonSet creates and deletes per node, and its status. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isActive, isAvailable, isFinished, isReady, isTerminating, toPod } from './pods-of-sets.ts'
import { scaled } from './rollout.ts'
import { type Node, unschedulableReason } from './scheduling.ts'
import type { Pod, PodTemplateSpec } from './shapes.ts'

export interface DaemonSet extends KubeObject {
  spec: {
    readonly minReadySeconds?: number
    readonly revisionHistoryLimit?: number
    readonly updateStrategy: {
      readonly type: string
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string }
    }
    readonly template: PodTemplateSpec
  }
  status: object
}

export const generationAnnotation = 'deprecated.daemonset.template.generation'
const hashLabel = 'controller-revision-hash'

/** Node taints that every daemon pod tolerates. */
const tolerated = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
].map(([name, effect]) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect: effect! }))

export function toDaemonPod(set: DaemonSet, node: Node, hash: string): Pod {
  const { template } = set.spec
  const generation = set.metadata.annotations?.[generationAnnotation]
  const labels = {
    ...template.metadata?.labels,
    [hashLabel]: hash,
    ...(generation && { 'pod-template-generation': generation }),
  }
  const pod = toPod(set, { ...template, metadata: { ...template.metadata, labels } })
  const field = { key: 'metadata.name', operator: 'In', values: [node.metadata.name!] }
  const nodeSelectorTerms = [{ matchFields: [field] }]
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } }
  const given = (template.spec['tolerations'] ?? []) as object[]
  return { ...pod, spec: { ...template.spec, affinity, tolerations: [...given, ...tolerated] } } as unknown as Pod
}

/** True if the template's node selector, affinity and tolerations allow the node. */
function isEligible(set: DaemonSet, node: Node): boolean {
  const pod = { spec: { ...set.spec.template.spec, tolerations: [...(given(set) ?? []), ...tolerated] } }
  return unschedulableReason(pod as unknown as Pod, node) === undefined
}

function given({ spec }: DaemonSet): readonly object[] | undefined {
  return spec.template.spec['tolerations'] as readonly object[] | undefined
}

/** The node a pod runs on, or is pinned to by its affinity. */
function nodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName
  const terms = /"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(JSON.stringify(spec.affinity ?? {}))
  return terms?.[1]
}

export interface DaemonPlan {
  readonly create: readonly Node[]
  readonly remove: readonly Pod[]
}

interface DaemonSetState {
  readonly nodes: readonly Node[]
  readonly pods: readonly Pod[]
  readonly hash: string
  readonly nowMs: number
}

export function planDaemons(set: DaemonSet, { nodes, pods, hash, nowMs }: DaemonSetState): DaemonPlan {
  const create: Node[] = []
  const remove: Pod[] = []
  for (const node of nodes) {
    const here = pods.filter((pod) => nodeOf(pod) === node.metadata.name)
    const [, ...surplus] = here.filter(isActive)
    remove.push(...here.filter((pod) => isFinished(pod) && !isTerminating(pod)))
    if (!isEligible(set, node)) remove.push(...here.filter(isActive))
    else if (here.length === 0) create.push(node)
    else remove.push(...surplus)
  }
  if (create.length > 0 || remove.length > 0) return { create, remove }
  return { create, remove: outdated(set, { nodes, pods, hash, nowMs }) }
}

/** Outdated pods to delete now: unavailable pods first, then as many as `maxUnavailable` allows. */
function outdated(set: DaemonSet, { nodes, pods, hash, nowMs }: DaemonSetState): Pod[] {
  const { updateStrategy, minReadySeconds = 0 } = set.spec
  if (updateStrategy.type !== 'RollingUpdate') return []
  const wanted = nodes.filter((node) => isEligible(set, node)).length
  const maxUnavailable = scaled(updateStrategy.rollingUpdate?.maxUnavailable ?? 1, wanted, Math.ceil)
  const isHealthy = (pod: Pod) => isActive(pod) && isAvailable(pod, minReadySeconds, nowMs)
  const old = pods.filter((pod) => isActive(pod) && pod.metadata.labels?.[hashLabel] !== hash)
  const missing = wanted - pods.filter(isHealthy).length
  const broken = old.filter((pod) => !isHealthy(pod))
  return [...broken, ...old.filter(isHealthy).slice(0, Math.max(0, maxUnavailable - missing))]
}

export function daemonStatus(set: DaemonSet, { nodes, pods, hash, nowMs }: DaemonSetState): object {
  const { minReadySeconds = 0 } = set.spec
  const wanted = new Set(nodes.filter((node) => isEligible(set, node)).map(({ metadata }) => metadata.name))
  const placed = pods.filter((pod) => isActive(pod) && wanted.has(nodeOf(pod)))
  const available = placed.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length
  return {
    observedGeneration: set.metadata.generation,
    desiredNumberScheduled: wanted.size,
    currentNumberScheduled: placed.length,
    numberMisscheduled: pods.filter((pod) => isActive(pod) && !wanted.has(nodeOf(pod))).length,
    numberReady: placed.filter(isReady).length,
    updatedNumberScheduled: placed.filter(({ metadata }) => metadata.labels?.[hashLabel] === hash).length,
    numberAvailable: available,
    numberUnavailable: wanted.size - available,
  }
}
