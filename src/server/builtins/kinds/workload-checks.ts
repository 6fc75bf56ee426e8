/** Validation shared by the workload kinds: specs, selectors and status counters. */
import type { KubeObject } from '../../../kube/objects.ts'
import { type FieldError, invalid, required } from '../../field-errors.ts'
import {
  checkCounters,
  checkLabelSelector,
  type IntOrString,
  isEmptySelector,
  type LabelSelectorSpec,
  selectorMatches,
} from '../checks.ts'
import type { PodTemplate } from '../validation/shapes.ts'
import { part } from '../values.ts'
import type { ClaimSpec } from './storage.ts'

interface RollingUpdate {
  readonly maxUnavailable?: IntOrString
  readonly maxSurge?: IntOrString
  readonly partition?: number
}

export interface WorkloadSpec {
  readonly replicas: number
  readonly minReadySeconds: number
  readonly selector: LabelSelectorSpec
  readonly template: PodTemplate
  readonly strategy: { readonly type?: string; readonly rollingUpdate?: RollingUpdate }
  readonly updateStrategy: { readonly type?: string; readonly rollingUpdate?: RollingUpdate }
  readonly revisionHistoryLimit: number
  readonly progressDeadlineSeconds: number
  readonly podManagementPolicy: string
  readonly serviceName: string
  readonly persistentVolumeClaimRetentionPolicy: { readonly whenDeleted?: string; readonly whenScaled?: string }
  readonly volumeClaimTemplates: ReadonlyArray<{
    readonly metadata: { readonly name?: string }
    readonly spec: ClaimSpec
  }>
  readonly ordinals: { readonly start?: number }
}

export const specOf = (object: KubeObject): Partial<WorkloadSpec> => part<WorkloadSpec>(object, 'spec')
export const selectorRule: string = '`selector` does not match template `labels`'

export function checkSelector(path: string, selector: LabelSelectorSpec | undefined, kind: string): FieldError[] {
  if (!selector) return [required(path)]
  const errors = checkLabelSelector(path, selector)
  return isEmptySelector(selector)
    ? [...errors, invalid(path, selector, `empty selector is invalid for ${kind}`)]
    : errors
}

/** An absent selector matches no labels; an empty selector is not compared with the template. */
export function checkMatch(path: string, selector: LabelSelectorSpec | undefined, template: PodTemplate): FieldError[] {
  if (selector && isEmptySelector(selector)) return []
  const labels = template.metadata?.labels
  return selectorMatches(selector, labels) ? [] : [invalid(`${path}.metadata.labels`, labels ?? null, selectorRule)]
}

/** The strategy with the field names of the internal type, as the real server prints it. */
export const shownStrategy = ({ type = '', rollingUpdate }: WorkloadSpec['strategy']): object => ({
  Type: type,
  RollingUpdate: rollingUpdate ?? null,
})

export type Counters = { readonly [name: string]: number | undefined }

/** Counters are at most `replicas`, and `availableReplicas` is at most the ready counter. */
export function checkReplicaStatus(
  object: KubeObject,
  counters: readonly string[],
  parts: readonly string[],
  ready: string,
): FieldError[] {
  const status = part<Counters>(object, 'status') as Counters
  const count = (name: string): number => status[name] ?? 0
  const errors = checkCounters('status', status, counters)
  for (const name of parts) {
    if (count(name) > count('replicas'))
      errors.push(invalid(`status.${name}`, count(name), 'cannot be greater than status.replicas'))
  }
  if (count('availableReplicas') > count('readyReplicas')) {
    errors.push(invalid('status.availableReplicas', count('availableReplicas'), `cannot be greater than ${ready}`))
  }
  return errors
}

export function checkCollisions(object: KubeObject, old: KubeObject): FieldError[] {
  const [count, before] = [object, old].map((one) => part<Counters>(one, 'status')['collisionCount'] ?? 0) as [
    number,
    number,
  ]
  return count < before ? [invalid('status.collisionCount', count, 'cannot be decremented')] : []
}
