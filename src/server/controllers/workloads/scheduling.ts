/**
 * Chooses a node for a pod: the one with the fewest pods among those that its node selector, affinity and tolerations allow.
 * Pure.
 */
import type { KubeObject } from '../../../kube/objects.ts'
import { createRequirement, isMet, type SelectorOperator } from '../../label-requirements.ts'
import type { Pod, StatusCondition } from './shapes.ts'

interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

export interface Node extends KubeObject {
  spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] }
  status?: { readonly conditions?: readonly StatusCondition[] }
}

interface Expression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

interface Term {
  readonly matchExpressions?: readonly Expression[]
  readonly matchFields?: readonly Expression[]
}

/** The node, or the reason why no node fits, with the scheduler's messages. */
export function chooseNode(
  pod: Pod,
  nodes: readonly Node[],
  podsOn: (name: string) => number,
): { node: string } | { why: string } {
  const reasons = nodes.map((node) => unschedulableReason(pod, node))
  const fitting = nodes.filter((_, index) => reasons[index] === undefined).map(({ metadata }) => metadata.name!)
  const [node] = fitting.sort((one, other) => podsOn(one) - podsOn(other) || (one < other ? -1 : 1))
  if (node !== undefined) return { node }
  const counts = new Map<string, number>()
  for (const reason of reasons) counts.set(reason!, (counts.get(reason!) ?? 0) + 1)
  const told = [...counts].map(([reason, count]) => `${count} node(s) ${reason}`).sort()
  return { why: `0/${nodes.length} nodes are available${told.length > 0 ? `: ${told.join(', ')}` : ''}.` }
}

export function unschedulableReason(pod: Pod, node: Node): string | undefined {
  if (node.spec?.unschedulable && !isTolerated(pod, unschedulable)) return 'were unschedulable'
  const taint = node.spec?.taints?.find((one) => one.effect !== 'PreferNoSchedule' && !isTolerated(pod, one))
  if (taint !== undefined) return `had untolerated taint {${taint.key}: ${taint.value ?? ''}}`
  return isSelected(pod, node) ? undefined : "didn't match Pod's node affinity/selector"
}

const unschedulable: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

function isTolerated({ spec }: Pod, taint: Taint): boolean {
  return (spec.tolerations ?? []).some(({ key, operator = 'Equal', value = '', effect }) => {
    if (effect && effect !== taint.effect) return false
    if (operator === 'Exists') return !key || key === taint.key
    return key === taint.key && value === (taint.value ?? '')
  })
}

function isSelected({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {}
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false
  const terms = requiredTerms(spec.affinity)
  return terms === undefined || terms.some((term) => isMetBy(term, node))
}

function requiredTerms(affinity: unknown): readonly Term[] | undefined {
  const required = (affinity as { nodeAffinity?: Record<string, { nodeSelectorTerms?: readonly Term[] }> } | undefined)
    ?.nodeAffinity?.['requiredDuringSchedulingIgnoredDuringExecution']
  return required && (required.nodeSelectorTerms ?? [])
}

const operators: Readonly<Record<string, SelectorOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: '>',
  Lt: '<',
}

function isMetBy({ matchExpressions = [], matchFields = [] }: Term, { metadata }: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false
  const isMetIn = (labels: Readonly<Record<string, string>>) => (one: Expression) =>
    isMet(createRequirement(one.key, operators[one.operator] ?? 'in', one.values ?? []), labels)
  const fields = { 'metadata.name': metadata.name! }
  return matchExpressions.every(isMetIn(metadata.labels ?? {})) && matchFields.every(isMetIn(fields))
}
