/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any valid integer. */
export interface PriorityClass {
  /** The group and version. */
  apiVersion: 'scheduling.k8s.io/v1'
  /** description is an arbitrary string that usually provides guidelines on when this priority class should be used. */
  description?: string
  /** globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. */
  globalDefault?: boolean
  /** The kind. */
  kind: 'PriorityClass'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset. */
  preemptionPolicy?: string
  /** value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec. */
  value?: number
}
/** PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any valid integer. */
export const PriorityClass: BuiltinResource<PriorityClass, 'Cluster'> = /* @__PURE__ */ defineBuiltin('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses', 'Cluster')
