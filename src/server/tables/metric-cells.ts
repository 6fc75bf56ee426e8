/** The Targets column of an autoscaler: current and target values, such as `cpu: 20%/80%`. */
import type { KubeObject } from '../../kube/objects.ts'
import { at, formatQuantity, listAt, textAt } from './cells.ts'

/** The field of a metric's numbers, by type. */
const sources: Readonly<Record<string, string>> = {
  External: 'external',
  Pods: 'pods',
  Object: 'object',
  Resource: 'resource',
  ContainerResource: 'containerResource',
}

const shown = 2

export function formatMetrics(scaler: KubeObject): string {
  const [specs, statuses] = metricsOf(scaler)
  if (specs.length === 0) return '<none>'
  const list = specs.slice(0, shown).map((spec, index) => formatMetric(spec, statuses[index]))
  const rest = specs.length - shown
  return rest > 0 ? `${list.join(', ')} + ${rest} more...` : list.join(', ')
}

/** autoscaling/v1 has a single metric in its own fields. */
function metricsOf(scaler: KubeObject): readonly [readonly unknown[], readonly unknown[]] {
  const target = at(scaler, 'spec.targetCPUUtilizationPercentage')
  if (target === undefined) return [listAt(scaler, 'spec.metrics'), listAt(scaler, 'status.currentMetrics')]
  const current = at(scaler, 'status.currentCPUUtilizationPercentage')
  const spec = { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: target } } }
  return [[spec], current === undefined ? [] : [{ resource: { current: { averageUtilization: current } } }]]
}

function formatMetric(spec: unknown, status: unknown): string {
  const type = textAt(spec, 'type')
  if (!Object.hasOwn(sources, type)) return '<unknown type>'
  const source = at(spec, sources[type]!)
  const current = at(status, `${sources[type]}`)
  if (type === 'Resource' || type === 'ContainerResource') return formatResource(source, current)
  if (type === 'Pods') {
    return `${currentOr(current, 'averageValue')}/${formatQuantity(at(source, 'target.averageValue'))}`
  }
  const average = at(source, 'target.averageValue')
  if (average === undefined) return `${currentOr(current, 'value')}/${formatQuantity(at(source, 'target.value'))}`
  return `${at(current, 'current.averageValue') ?? '<unknown>'}/${formatQuantity(average)} (avg)`
}

function formatResource(source: unknown, current: unknown): string {
  const name = textAt(source, 'name')
  const average = at(source, 'target.averageValue')
  if (average !== undefined) return `${name}: ${currentOr(current, 'averageValue')}/${formatQuantity(average)}`
  const reached = at(current, 'current.averageUtilization')
  const wanted = at(source, 'target.averageUtilization')
  return `${name}: ${formatShare(reached, '<unknown>')}/${formatShare(wanted, '<auto>')}`
}

function currentOr(current: unknown, field: string): string {
  return current === undefined ? '<unknown>' : formatQuantity(at(current, `current.${field}`))
}

function formatShare(value: unknown, absent: string): string {
  return value === undefined ? absent : `${value}%`
}
