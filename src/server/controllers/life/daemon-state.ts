/** Where a daemon set stands, and what is to be done on each node. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isActive, isAvailable, isFinished, isReady, isTerminating, toPod } from './pods-of-sets.ts'
import { scaled } from './rollout.ts'
import { type Node, objection } from './scheduling.ts'
import type { Pod, PodTemplate } from './shapes.ts'

export interface DaemonSet extends KubeObject {
  spec: {
    readonly minReadySeconds?: number
    readonly revisionHistoryLimit?: number
    readonly updateStrategy: {
      readonly type: string
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string }
    }
    readonly template: PodTemplate
  }
  status: object
}

export const generationAnnotation = 'deprecated.daemonset.template.generation'
const hashLabel = 'controller-revision-hash'

/** The troubles of a node that keep no daemon off it. */
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

/** Where the template's own selector and affinity let it be. */
function isWantedOn(set: DaemonSet, node: Node): boolean {
  const pod = { spec: { ...set.spec.template.spec, tolerations: [...(given(set) ?? []), ...tolerated] } }
  return objection(pod as unknown as Pod, node) === undefined
}

function given({ spec }: DaemonSet): readonly object[] | undefined {
  return spec.template.spec['tolerations'] as readonly object[] | undefined
}

/** On which node it is, or is to be. */
function nodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName
  const terms = /"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(JSON.stringify(spec.affinity ?? {}))
  return terms?.[1]
}

export interface DaemonPlan {
  readonly create: readonly Node[]
  readonly remove: readonly Pod[]
}

interface Situation {
  readonly nodes: readonly Node[]
  readonly pods: readonly Pod[]
  readonly hash: string
  readonly nowMs: number
}

export function planDaemons(set: DaemonSet, { nodes, pods, hash, nowMs }: Situation): DaemonPlan {
  const create: Node[] = []
  const remove: Pod[] = []
  for (const node of nodes) {
    const here = pods.filter((pod) => nodeOf(pod) === node.metadata.name)
    const [, ...surplus] = here.filter(isActive)
    remove.push(...here.filter((pod) => isFinished(pod) && !isTerminating(pod)))
    if (!isWantedOn(set, node)) remove.push(...here.filter(isActive))
    else if (here.length === 0) create.push(node)
    else remove.push(...surplus)
  }
  if (create.length > 0 || remove.length > 0) return { create, remove }
  return { create, remove: outdated(set, { nodes, pods, hash, nowMs }) }
}

/** As many as may be missing at once. */
function outdated(set: DaemonSet, { nodes, pods, hash, nowMs }: Situation): Pod[] {
  const { updateStrategy, minReadySeconds = 0 } = set.spec
  if (updateStrategy.type !== 'RollingUpdate') return []
  const wanted = nodes.filter((node) => isWantedOn(set, node)).length
  const most = scaled(updateStrategy.rollingUpdate?.maxUnavailable ?? 1, wanted, Math.ceil)
  const isWell = (pod: Pod) => isActive(pod) && isAvailable(pod, minReadySeconds, nowMs)
  const old = pods.filter((pod) => isActive(pod) && pod.metadata.labels?.[hashLabel] !== hash)
  const missing = wanted - pods.filter(isWell).length
  const broken = old.filter((pod) => !isWell(pod))
  return [...broken, ...old.filter(isWell).slice(0, Math.max(0, most - missing))]
}

export function daemonStatus(set: DaemonSet, { nodes, pods, hash, nowMs }: Situation): object {
  const { minReadySeconds = 0 } = set.spec
  const wanted = new Set(nodes.filter((node) => isWantedOn(set, node)).map(({ metadata }) => metadata.name))
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
