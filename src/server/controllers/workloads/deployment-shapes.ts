/** Types of Deployments, and the annotations that the controller writes to their ReplicaSets. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { PodTemplateSpec, StatusCondition } from './shapes.ts'

export interface Deployment extends KubeObject {
  spec: {
    readonly replicas: number
    readonly paused?: boolean
    readonly minReadySeconds?: number
    readonly progressDeadlineSeconds?: number
    readonly revisionHistoryLimit?: number
    readonly selector: object
    readonly strategy: {
      readonly type: string
      readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string }
    }
    readonly template: PodTemplateSpec
  }
  status: DeploymentStatus
}

export interface DeploymentStatus {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly updatedReplicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly unavailableReplicas?: number
  readonly terminatingReplicas?: number
  readonly collisionCount?: number
  readonly conditions?: readonly StatusCondition[]
}

const prefix = 'deployment.kubernetes.io'
export const revisionAnnotation: string = `${prefix}/revision`
export const historyAnnotation: string = `${prefix}/revision-history`
export const desiredReplicasAnnotation: string = `${prefix}/desired-replicas`
export const maxReplicasAnnotation: string = `${prefix}/max-replicas`

export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0)
}

/** The API's value for no deadline. */
const noDeadline = 2 ** 31 - 1

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== noDeadline
}
