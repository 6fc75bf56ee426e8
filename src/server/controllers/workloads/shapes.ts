/** Types of the built-in kinds, limited to the fields that controllers read. The decoder has validated them. */
import type { JsonObject, KubeObject } from '../../../kube/objects.ts'

export interface StatusCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly lastUpdateTime?: string
  readonly lastProbeTime?: string
}

export interface PodTemplateSpec {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
  }
  readonly spec: JsonObject
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly running?: { readonly startedAt: string }
  readonly terminated?: {
    readonly exitCode: number
    readonly reason: string
    readonly startedAt: string
    readonly finishedAt: string
  }
}

export interface ContainerStatus {
  readonly name: string
  readonly image: string
  readonly imageID: string
  readonly started: boolean
  readonly containerID?: string
  readonly ready: boolean
  readonly restartCount: number
  readonly state: ContainerState
  readonly lastState: ContainerState
}

export interface Pod extends KubeObject {
  spec: {
    readonly nodeName?: string
    readonly hostname?: string
    readonly subdomain?: string
    readonly restartPolicy: string
    readonly schedulerName?: string
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly affinity?: JsonObject
    readonly tolerations?: ReadonlyArray<Readonly<Record<string, string | number>>>
    readonly schedulingGates?: readonly object[]
    readonly readinessGates?: ReadonlyArray<{ readonly conditionType: string }>
    readonly activeDeadlineSeconds?: number
    readonly containers: ReadonlyArray<{
      readonly name: string
      readonly image?: string
      readonly ports?: ReadonlyArray<{
        readonly name?: string
        readonly containerPort: number
        readonly protocol?: string
      }>
    }>
    readonly initContainers?: ReadonlyArray<{ readonly name: string; readonly image?: string }>
    readonly volumes?: ReadonlyArray<{
      readonly name: string
      readonly persistentVolumeClaim?: { readonly claimName: string }
    }>
  }
  status: {
    readonly phase: string
    readonly reason?: string
    readonly message?: string
    readonly conditions?: readonly StatusCondition[]
    readonly startTime?: string
    readonly podIP?: string
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
  }
}

export interface ReplicaSet extends KubeObject {
  spec: { readonly replicas: number; readonly minReadySeconds?: number; readonly template: PodTemplateSpec }
  status: {
    readonly replicas: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly terminatingReplicas?: number
    readonly observedGeneration?: number
    readonly conditions?: readonly StatusCondition[]
  }
}
