/** Types of Jobs, limited to the fields that the controller reads. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { PodTemplateSpec, StatusCondition } from './shapes.ts'

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
    readonly template: PodTemplateSpec
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
  readonly conditions?: readonly StatusCondition[]
}

/** Kept on each pod until the Job has counted it. */
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
