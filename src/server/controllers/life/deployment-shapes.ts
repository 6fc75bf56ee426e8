/** Deployments and the annotations by which they remember things on their replica sets. */
import type { KubeObject } from '../../../kube/objects.ts'
import type { Condition, PodTemplate } from './shapes.ts'

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
    readonly template: PodTemplate
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
  readonly conditions?: readonly Condition[]
}

const prefix = 'deployment.kubernetes.io'
export const revisionAnnotation: string = `${prefix}/revision`
export const historyAnnotation: string = `${prefix}/revision-history`
export const desiredAnnotation: string = `${prefix}/desired-replicas`
export const maximumAnnotation: string = `${prefix}/max-replicas`

export function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0)
}

/** "Infinity", in the words of the API. */
const noDeadline = 2 ** 31 - 1

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== noDeadline
}
