/** Jobs, as far as their controller looks at them. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Condition, PodTemplate } from './shapes.ts'

export interface Job extends KubeObject {
  spec: {
    readonly completions?: number
    readonly parallelism: number
    readonly backoffLimit: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly suspend?: boolean
    readonly completionMode?: string
    readonly podReplacementPolicy?: string
    readonly managedBy?: string
    readonly template: PodTemplate
  }
  status: JobStatus
}

export interface JobStatus {
  readonly active?: number
  readonly ready?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly terminating?: number
  readonly startTime?: string
  readonly completionTime?: string
  readonly completedIndexes?: string
  readonly uncountedTerminatedPods?: { readonly succeeded?: readonly string[]; readonly failed?: readonly string[] }
  readonly conditions?: readonly Condition[]
}

/** Held by the job until the pod is counted. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'
export const indexKey = 'batch.kubernetes.io/job-completion-index'

export function hasCondition({ status }: Job, type: string): boolean {
  return status.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
}

export function isJobFinished(job: Job): boolean {
  return hasCondition(job, 'Complete') || hasCondition(job, 'Failed')
}

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === 'Indexed'
}
