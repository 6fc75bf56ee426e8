/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { Condition, DeleteOptions, IntOrString, LabelSelector } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** Eviction evicts a pod from its node subject to certain policies and safety constraints. This is a subresource of Pod. A request to cause such an eviction is created by POSTing to .../pods/<pod name>/evictions. */
export interface Eviction {
  /** The group and version. */
  apiVersion: 'policy/v1'
  /** DeleteOptions may be provided */
  deleteOptions?: DeleteOptions
  /** The kind. */
  kind: 'Eviction'
  /** ObjectMeta describes the pod that is being evicted. */
  metadata: ObjectMeta
}

/** PodDisruptionBudget is an object to define the max disruption that can be caused to a collection of pods */
export interface PodDisruptionBudget {
  /** The group and version. */
  apiVersion: 'policy/v1'
  /** The kind. */
  kind: 'PodDisruptionBudget'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Specification of the desired behavior of the PodDisruptionBudget. */
  spec?: PodDisruptionBudgetSpec
  /** Most recently observed status of the PodDisruptionBudget. */
  status?: PodDisruptionBudgetStatus
}
/** PodDisruptionBudget is an object to define the max disruption that can be caused to a collection of pods */
export const PodDisruptionBudget: BuiltinResource<PodDisruptionBudget, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', 'Namespaced')

/** PodDisruptionBudgetSpec is a description of a PodDisruptionBudget. */
export interface PodDisruptionBudgetSpec {
  /** An eviction is allowed if at most "maxUnavailable" pods selected by "selector" are unavailable after the eviction, i.e. even in absence of the evicted pod. For example, one can prevent all voluntary evictions by specifying 0. This is a mutually exclusive setting with "minAvailable". */
  maxUnavailable?: IntOrString
  /** An eviction is allowed if at least "minAvailable" pods selected by "selector" will still be available after the eviction, i.e. even in the absence of the evicted pod. So for example you can prevent all voluntary evictions by specifying "100%". */
  minAvailable?: IntOrString
  /** Label query over pods whose evictions are managed by the disruption budget. A null selector will match no pods, while an empty ({}) selector will select all pods within the namespace. */
  selector?: LabelSelector
  /** UnhealthyPodEvictionPolicy defines the criteria for when unhealthy pods should be considered for eviction. Current implementation considers healthy pods, as pods that have status.conditions item with type="Ready",status="True". Valid policies are IfHealthyBudget and AlwaysAllow. */
  unhealthyPodEvictionPolicy?: string
}

/** PodDisruptionBudgetStatus represents information about the status of a PodDisruptionBudget. Status may trail the actual state of a system. */
export interface PodDisruptionBudgetStatus {
  /** Conditions contain conditions for PDB. The disruption controller sets the DisruptionAllowed condition. */
  conditions?: Condition[]
  /** current number of healthy pods */
  currentHealthy?: number
  /** minimum desired number of healthy pods */
  desiredHealthy?: number
  /** DisruptedPods contains information about pods whose eviction was processed by the API server eviction subresource handler but has not yet been observed by the PodDisruptionBudget controller. */
  disruptedPods?: { [key: string]: string }
  /** Number of pod disruptions that are currently allowed. */
  disruptionsAllowed?: number
  /** total number of pods counted by this disruption budget */
  expectedPods?: number
  /** Most recent generation observed when updating this PDB status. DisruptionsAllowed and other status information is valid only if observedGeneration equals to PDB's object generation. */
  observedGeneration?: number
}
