/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { PersistentVolumeClaim, PodTemplateSpec } from '../core/v1.generated.ts'
import type { IntOrString, LabelSelector } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** ControllerRevision implements an immutable snapshot of state data. Clients are responsible for serializing and deserializing the objects that contain their internal state. Once a ControllerRevision has been successfully created, it can not be updated. */
export interface ControllerRevision {
  /** The group and version. */
  apiVersion: 'apps/v1'
  /** Data is the serialized representation of the state. */
  data?: { [field: string]: unknown }
  /** The kind. */
  kind: 'ControllerRevision'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Revision indicates the revision of the state represented by Data. */
  revision: number
}
/** ControllerRevision implements an immutable snapshot of state data. Clients are responsible for serializing and deserializing the objects that contain their internal state. Once a ControllerRevision has been successfully created, it can not be updated. */
export const ControllerRevision: BuiltinResource<ControllerRevision, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('apps', 'v1', 'ControllerRevision', 'controllerrevisions', 'Namespaced')

/** DaemonSet represents the configuration of a daemon set. */
export interface DaemonSet {
  /** The group and version. */
  apiVersion: 'apps/v1'
  /** The kind. */
  kind: 'DaemonSet'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** The desired behavior of this daemon set. */
  spec: DaemonSetSpec
  /** The current status of this daemon set. This data may be out of date by some window of time. Populated by the system. Read-only. */
  status?: DaemonSetStatus
}
/** DaemonSet represents the configuration of a daemon set. */
export const DaemonSet: BuiltinResource<DaemonSet, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('apps', 'v1', 'DaemonSet', 'daemonsets', 'Namespaced')

/** DaemonSetCondition describes the state of a DaemonSet at a certain point. */
export interface DaemonSetCondition {
  /** Last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** A human readable message indicating details about the transition. */
  message?: string
  /** The reason for the condition's last transition. */
  reason?: string
  /** Status of the condition, one of True, False, Unknown. */
  status: string
  /** Type of DaemonSet condition. */
  type: string
}

/** DaemonSetSpec is the specification of a daemon set. */
export interface DaemonSetSpec {
  /** The minimum number of seconds for which a newly created DaemonSet pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready). */
  minReadySeconds?: number
  /** The number of old history to retain to allow rollback. This is a pointer to distinguish between explicit zero and not specified. Defaults to 10. */
  revisionHistoryLimit?: number
  /** A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. */
  selector: LabelSelector
  /** An object that describes the pod that will be created. The DaemonSet will create exactly one copy of this pod on every node that matches the template's node selector (or on every node if no node selector is specified). The only allowed template.spec.restartPolicy value is "Always". */
  template: PodTemplateSpec
  /** An update strategy to replace existing DaemonSet pods with new pods. */
  updateStrategy?: DaemonSetUpdateStrategy
}

/** DaemonSetStatus represents the current status of a daemon set. */
export interface DaemonSetStatus {
  /** Count of hash collisions for the DaemonSet. The DaemonSet controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ControllerRevision. */
  collisionCount?: number
  /** Represents the latest available observations of a DaemonSet's current state. */
  conditions?: DaemonSetCondition[]
  /** The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. */
  currentNumberScheduled: number
  /** The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). */
  desiredNumberScheduled: number
  /** The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds) */
  numberAvailable?: number
  /** The number of nodes that are running the daemon pod, but are not supposed to run the daemon pod. */
  numberMisscheduled: number
  /** numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition. */
  numberReady: number
  /** The number of nodes that should be running the daemon pod and have none of the daemon pod running and available (ready for at least spec.minReadySeconds) */
  numberUnavailable?: number
  /** The most recent generation observed by the daemon set controller. */
  observedGeneration?: number
  /** The total number of nodes that are running updated daemon pod */
  updatedNumberScheduled?: number
}

/** DaemonSetUpdateStrategy is a struct used to control the update strategy for a DaemonSet. */
export interface DaemonSetUpdateStrategy {
  /** Rolling update config params. Present only if type = "RollingUpdate". */
  rollingUpdate?: RollingUpdateDaemonSet
  /** Type of daemon set update. Can be "RollingUpdate" or "OnDelete". Default is RollingUpdate. */
  type?: string
}

/** Deployment enables declarative updates for Pods and ReplicaSets. */
export interface Deployment {
  /** The group and version. */
  apiVersion: 'apps/v1'
  /** The kind. */
  kind: 'Deployment'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Specification of the desired behavior of the Deployment. */
  spec: DeploymentSpec
  /** Most recently observed status of the Deployment. */
  status?: DeploymentStatus
}
/** Deployment enables declarative updates for Pods and ReplicaSets. */
export const Deployment: BuiltinResource<Deployment, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('apps', 'v1', 'Deployment', 'deployments', 'Namespaced')

/** DeploymentCondition describes the state of a deployment at a certain point. */
export interface DeploymentCondition {
  /** Last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** The last time this condition was updated. */
  lastUpdateTime?: string
  /** A human readable message indicating details about the transition. */
  message?: string
  /** The reason for the condition's last transition. */
  reason?: string
  /** Status of the condition, one of True, False, Unknown. */
  status: string
  /** Type of deployment condition. */
  type: string
}

/** DeploymentSpec is the specification of the desired behavior of the Deployment. */
export interface DeploymentSpec {
  /** Minimum number of seconds for which a newly created pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready) */
  minReadySeconds?: number
  /** Indicates that the deployment is paused. */
  paused?: boolean
  /** The maximum time in seconds for a deployment to make progress before it is considered to be failed. The deployment controller will continue to process failed deployments and a condition with a ProgressDeadlineExceeded reason will be surfaced in the deployment status. */
  progressDeadlineSeconds?: number
  /** Number of desired pods. This is a pointer to distinguish between explicit zero and not specified. Defaults to 1. */
  replicas?: number
  /** The number of old ReplicaSets to retain to allow rollback. This is a pointer to distinguish between explicit zero and not specified. Defaults to 10. */
  revisionHistoryLimit?: number
  /** Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels. */
  selector: LabelSelector
  /** The deployment strategy to use to replace existing pods with new ones. */
  strategy?: DeploymentStrategy
  /** Template describes the pods that will be created. The only allowed template.spec.restartPolicy value is "Always". */
  template: PodTemplateSpec
}

/** DeploymentStatus is the most recently observed status of the Deployment. */
export interface DeploymentStatus {
  /** Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment. */
  availableReplicas?: number
  /** Count of hash collisions for the Deployment. The Deployment controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ReplicaSet. */
  collisionCount?: number
  /** Represents the latest available observations of a deployment's current state. */
  conditions?: DeploymentCondition[]
  /** The generation observed by the deployment controller. */
  observedGeneration?: number
  /** Total number of non-terminating pods targeted by this Deployment with a Ready Condition. */
  readyReplicas?: number
  /** Total number of non-terminating pods targeted by this deployment (their labels match the selector). */
  replicas?: number
  /** Total number of terminating pods targeted by this deployment. Terminating pods have a non-null .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase. This is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default). */
  terminatingReplicas?: number
  /** Total number of unavailable pods targeted by this deployment. This is the total number of pods that are still required for the deployment to have 100% available capacity. They may either be pods that are running but not yet available or pods that still have not been created. */
  unavailableReplicas?: number
  /** Total number of non-terminating pods targeted by this deployment that have the desired template spec. */
  updatedReplicas?: number
}

/** DeploymentStrategy describes how to replace existing pods with new ones. */
export interface DeploymentStrategy {
  /** Rolling update config params. Present only if DeploymentStrategyType = RollingUpdate. */
  rollingUpdate?: RollingUpdateDeployment
  /** Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate. */
  type?: string
}

/** ReplicaSet ensures that a specified number of pod replicas are running at any given time. */
export interface ReplicaSet {
  /** The group and version. */
  apiVersion: 'apps/v1'
  /** The kind. */
  kind: 'ReplicaSet'
  /** If the Labels of a ReplicaSet are empty, they are defaulted to be the same as the Pod(s) that the ReplicaSet manages. Standard object's metadata. */
  metadata: ObjectMeta
  /** Spec defines the specification of the desired behavior of the ReplicaSet. */
  spec: ReplicaSetSpec
  /** Status is the most recently observed status of the ReplicaSet. This data may be out of date by some window of time. Populated by the system. Read-only. */
  status?: ReplicaSetStatus
}
/** ReplicaSet ensures that a specified number of pod replicas are running at any given time. */
export const ReplicaSet: BuiltinResource<ReplicaSet, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('apps', 'v1', 'ReplicaSet', 'replicasets', 'Namespaced')

/** ReplicaSetCondition describes the state of a replica set at a certain point. */
export interface ReplicaSetCondition {
  /** The last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** A human readable message indicating details about the transition. */
  message?: string
  /** The reason for the condition's last transition. */
  reason?: string
  /** Status of the condition, one of True, False, Unknown. */
  status: string
  /** Type of replica set condition. */
  type: string
}

/** ReplicaSetSpec is the specification of a ReplicaSet. */
export interface ReplicaSetSpec {
  /** Minimum number of seconds for which a newly created pod should be ready without any of its container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready) */
  minReadySeconds?: number
  /** Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. */
  replicas?: number
  /** Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. */
  selector: LabelSelector
  /** Template is the object that describes the pod that will be created if insufficient replicas are detected. */
  template?: PodTemplateSpec
}

/** ReplicaSetStatus represents the current status of a ReplicaSet. */
export interface ReplicaSetStatus {
  /** The number of available non-terminating pods (ready for at least minReadySeconds) for this replica set. */
  availableReplicas?: number
  /** Represents the latest available observations of a replica set's current state. */
  conditions?: ReplicaSetCondition[]
  /** The number of non-terminating pods that have labels matching the labels of the pod template of the replicaset. */
  fullyLabeledReplicas?: number
  /** ObservedGeneration reflects the generation of the most recently observed ReplicaSet. */
  observedGeneration?: number
  /** The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition. */
  readyReplicas?: number
  /** Replicas is the most recently observed number of non-terminating pods. */
  replicas: number
  /** The number of terminating pods for this replica set. Terminating pods have a non-null .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase. This is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default). */
  terminatingReplicas?: number
}

/** Spec to control the desired behavior of daemon set rolling update. */
export interface RollingUpdateDaemonSet {
  /** The maximum number of nodes with an existing available DaemonSet pod that can have an updated DaemonSet pod during during an update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). This can not be 0 if MaxUnavailable is 0. */
  maxSurge?: IntOrString
  /** The maximum number of DaemonSet pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of total number of DaemonSet pods at the start of the update (ex: 10%). Absolute number is calculated from percentage by rounding up. */
  maxUnavailable?: IntOrString
}

/** Spec to control the desired behavior of rolling update. */
export interface RollingUpdateDeployment {
  /** The maximum number of pods that can be scheduled above the desired number of pods. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). This can not be 0 if MaxUnavailable is 0. Absolute number is calculated from percentage by rounding up. Defaults to 25%. */
  maxSurge?: IntOrString
  /** The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding down. This can not be 0 if MaxSurge is 0. Defaults to 25%. */
  maxUnavailable?: IntOrString
}

/** RollingUpdateStatefulSetStrategy is used to communicate parameter for RollingUpdateStatefulSetStrategyType. */
export interface RollingUpdateStatefulSetStrategy {
  /** The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding up. This can not be 0. Defaults to 1. This field is beta-level and is enabled by default. */
  maxUnavailable?: IntOrString
  /** Partition indicates the ordinal at which the StatefulSet should be partitioned for updates. During a rolling update, all pods from ordinal Replicas-1 to Partition are updated. All pods from ordinal Partition-1 to 0 remain untouched. This is helpful in being able to do a canary based deployment. */
  partition?: number
}

/** StatefulSet represents a set of pods with consistent identities. Identities are defined as: - Network: A single stable DNS and hostname. - Storage: As many VolumeClaims as requested. The StatefulSet guarantees that a given network identity will always map to the same storage identity. */
export interface StatefulSet {
  /** The group and version. */
  apiVersion: 'apps/v1'
  /** The kind. */
  kind: 'StatefulSet'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Spec defines the desired identities of pods in this set. */
  spec: StatefulSetSpec
  /** Status is the current status of Pods in this StatefulSet. This data may be out of date by some window of time. */
  status?: StatefulSetStatus
}
/** StatefulSet represents a set of pods with consistent identities. Identities are defined as: - Network: A single stable DNS and hostname. - Storage: As many VolumeClaims as requested. The StatefulSet guarantees that a given network identity will always map to the same storage identity. */
export const StatefulSet: BuiltinResource<StatefulSet, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('apps', 'v1', 'StatefulSet', 'statefulsets', 'Namespaced')

/** StatefulSetCondition describes the state of a statefulset at a certain point. */
export interface StatefulSetCondition {
  /** Last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** A human readable message indicating details about the transition. */
  message?: string
  /** The reason for the condition's last transition. */
  reason?: string
  /** Status of the condition, one of True, False, Unknown. */
  status: string
  /** Type of statefulset condition. */
  type: string
}

/** StatefulSetOrdinals describes the policy used for replica ordinal assignment in this StatefulSet. */
export interface StatefulSetOrdinals {
  /** start is the number representing the first replica's index. It may be used to number replicas from an alternate index (eg: 1-indexed) over the default 0-indexed names, or to orchestrate progressive movement of replicas from one StatefulSet to another. */
  start?: number
}

/** StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created from the StatefulSet VolumeClaimTemplates. */
export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  /** WhenDeleted specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is deleted. The default policy of `Retain` causes PVCs to not be affected by StatefulSet deletion. The `Delete` policy causes those PVCs to be deleted. */
  whenDeleted?: string
  /** WhenScaled specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is scaled down. The default policy of `Retain` causes PVCs to not be affected by a scaledown. */
  whenScaled?: string
}

/** A StatefulSetSpec is the specification of a StatefulSet. */
export interface StatefulSetSpec {
  /** Minimum number of seconds for which a newly created pod should be ready without any of its container crashing for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready) */
  minReadySeconds?: number
  /** ordinals controls the numbering of replica indices in a StatefulSet. The default ordinals behavior assigns a "0" index to the first replica and increments the index by one for each additional replica requested. */
  ordinals?: StatefulSetOrdinals
  /** persistentVolumeClaimRetentionPolicy describes the lifecycle of persistent volume claims created from volumeClaimTemplates. By default, all persistent volume claims are created as needed and retained until manually deleted. */
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy
  /** podManagementPolicy controls how pods are created during initial scale up, when replacing pods on nodes, or when scaling down. */
  podManagementPolicy?: string
  /** replicas is the desired number of replicas of the given Template. These are replicas in the sense that they are instantiations of the same Template, but individual replicas also have a consistent identity. If unspecified, defaults to 1. */
  replicas?: number
  /** revisionHistoryLimit is the maximum number of revisions that will be maintained in the StatefulSet's revision history. The revision history consists of all revisions not represented by a currently applied StatefulSetSpec version. The default value is 10. */
  revisionHistoryLimit?: number
  /** selector is a label query over pods that should match the replica count. It must match the pod template's labels. */
  selector: LabelSelector
  /** serviceName is the name of the service that governs this StatefulSet. This service must exist before the StatefulSet, and is responsible for the network identity of the set. */
  serviceName?: string
  /** template is the object that describes the pod that will be created if insufficient replicas are detected. Each pod stamped out by the StatefulSet will fulfill this Template, but have a unique identity from the rest of the StatefulSet. */
  template: PodTemplateSpec
  /** updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the StatefulSet when a revision is made to Template. */
  updateStrategy?: StatefulSetUpdateStrategy
  /** volumeClaimTemplates is a list of claims that pods are allowed to reference. The StatefulSet controller is responsible for mapping network identities to claims in a way that maintains the identity of a pod. */
  volumeClaimTemplates?: PersistentVolumeClaim[]
}

/** StatefulSetStatus represents the current state of a StatefulSet. */
export interface StatefulSetStatus {
  /** Total number of available pods (ready for at least minReadySeconds) targeted by this statefulset. */
  availableReplicas?: number
  /** collisionCount is the count of hash collisions for the StatefulSet. The StatefulSet controller uses this field as a collision avoidance mechanism when it needs to create the name for the newest ControllerRevision. */
  collisionCount?: number
  /** Represents the latest available observations of a statefulset's current state. */
  conditions?: StatefulSetCondition[]
  /** currentReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version indicated by currentRevision. */
  currentReplicas?: number
  /** currentRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence [0,currentReplicas). */
  currentRevision?: string
  /** observedGeneration is the most recent generation observed for this StatefulSet. It corresponds to the StatefulSet's generation, which is updated on mutation by the API Server. */
  observedGeneration?: number
  /** readyReplicas is the number of pods created for this StatefulSet with a Ready Condition. */
  readyReplicas?: number
  /** replicas is the number of Pods created by the StatefulSet controller. */
  replicas: number
  /** updateRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence [replicas-updatedReplicas,replicas) */
  updateRevision?: string
  /** updatedReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version indicated by updateRevision. */
  updatedReplicas?: number
}

/** StatefulSetUpdateStrategy indicates the strategy that the StatefulSet controller will use to perform updates. It includes any additional parameters necessary to perform the update for the indicated strategy. */
export interface StatefulSetUpdateStrategy {
  /** RollingUpdate is used to communicate parameters when Type is RollingUpdateStatefulSetStrategyType. */
  rollingUpdate?: RollingUpdateStatefulSetStrategy
  /** Type indicates the type of the StatefulSetUpdateStrategy. Default is RollingUpdate. */
  type?: string
}
