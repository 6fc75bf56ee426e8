/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { PersistentVolumeSpec, TopologySelectorTerm } from '../core/v1.generated.ts'
import type { LabelSelector, Quantity } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** CSIDriver captures information about a Container Storage Interface (CSI) volume driver deployed on the cluster. Kubernetes attach detach controller uses this object to determine whether attach is required. Kubelet uses this object to determine whether pod information needs to be passed on mount. */
export interface CSIDriver {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** The kind. */
  kind: 'CSIDriver'
  /** Standard object metadata. metadata.Name indicates the name of the CSI driver that this object refers to; it MUST be the same name returned by the CSI GetPluginName() call for that driver. */
  metadata: ObjectMeta
  /** spec represents the specification of the CSI Driver. */
  spec: CSIDriverSpec
}
/** CSIDriver captures information about a Container Storage Interface (CSI) volume driver deployed on the cluster. Kubernetes attach detach controller uses this object to determine whether attach is required. Kubelet uses this object to determine whether pod information needs to be passed on mount. */
export const CSIDriver: BuiltinResource<CSIDriver, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'CSIDriver', 'csidrivers', 'Cluster')

/** CSIDriverSpec is the specification of a CSIDriver. */
export interface CSIDriverSpec {
  /** attachRequired indicates this CSI volume driver requires an attach operation (because it implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach detach controller should call the attach volume interface which checks the volumeattachment status and waits until the volume is attached before proceeding to mounting. */
  attachRequired?: boolean
  /** fsGroupPolicy defines if the underlying volume supports changing ownership and permission of the volume before being mounted. Refer to the specific FSGroupPolicy values for additional details. This field was immutable in Kubernetes < 1.29 and now is mutable. */
  fsGroupPolicy?: string
  /** nodeAllocatableUpdatePeriodSeconds specifies the interval between periodic updates of the CSINode allocatable capacity for this driver. When set, both periodic updates and updates triggered by capacity-related failures are enabled. */
  nodeAllocatableUpdatePeriodSeconds?: number
  /** podInfoOnMount indicates this CSI volume driver requires additional pod information (like podName, podUID, etc.) during mount operations, if set to true. If set to false, pod information will not be passed on mount. Default is false. */
  podInfoOnMount?: boolean
  /** PreventPodSchedulingIfMissing indicates that the CSI driver wants to prevent pod scheduling if the CSI driver on the node is missing. */
  preventPodSchedulingIfMissing?: boolean
  /** requiresRepublish indicates the CSI driver wants `NodePublishVolume` being periodically called to reflect any possible change in the mounted volume. This field defaults to false. */
  requiresRepublish?: boolean
  /** seLinuxMount specifies if the CSI driver supports "-o context" mount option. When "true", the CSI driver must ensure that all volumes provided by this CSI driver can be mounted separately with different `-o context` options. */
  seLinuxMount?: boolean
  /** serviceAccountTokenInSecrets is an opt-in for CSI drivers to indicate that service account tokens should be passed via the Secrets field in NodePublishVolumeRequest instead of the VolumeContext field. */
  serviceAccountTokenInSecrets?: boolean
  /** storageCapacity indicates that the CSI volume driver wants pod scheduling to consider the storage capacity that the driver deployment will report by creating CSIStorageCapacity objects with capacity information, if set to true. The check can be enabled immediately when deploying a driver. */
  storageCapacity?: boolean
  /** tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting volume for to do necessary authentication. Kubelet will pass the tokens in VolumeContext in the CSI NodePublishVolume calls. */
  tokenRequests?: TokenRequest[]
  /** volumeLifecycleModes defines what kind of volumes this CSI volume driver supports. The default if the list is empty is "Persistent", which is the usage defined by the CSI specification and implemented in Kubernetes via the usual PV/PVC mechanism. The other mode is "Ephemeral". */
  volumeLifecycleModes?: string[]
}

/** CSINode holds information about all CSI drivers installed on a node. CSI drivers do not need to create the CSINode object directly. */
export interface CSINode {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** The kind. */
  kind: 'CSINode'
  /** Standard object's metadata. metadata.name must be the Kubernetes node name. */
  metadata: ObjectMeta
  /** spec is the specification of CSINode */
  spec: CSINodeSpec
}
/** CSINode holds information about all CSI drivers installed on a node. CSI drivers do not need to create the CSINode object directly. */
export const CSINode: BuiltinResource<CSINode, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'CSINode', 'csinodes', 'Cluster')

/** CSINodeDriver holds information about the specification of one CSI driver installed on a node */
export interface CSINodeDriver {
  /** allocatable represents the volume resources of a node that are available for scheduling. This field is beta. */
  allocatable?: VolumeNodeResources
  /** name represents the name of the CSI driver that this object refers to. This MUST be the same name returned by the CSI GetPluginName() call for that driver. */
  name: string
  /** nodeID of the node from the driver point of view. This field enables Kubernetes to communicate with storage systems that do not share the same nomenclature for nodes. For example, Kubernetes may refer to a given node as "node1", but the storage system may refer to the same node as "nodeA". */
  nodeID: string
  /** topologyKeys is the list of keys supported by the driver. When a driver is initialized on a cluster, it provides a set of topology keys that it understands (e.g. "company.com/zone", "company.com/region"). When a driver is initialized on a node, it provides the same topology keys along with values. */
  topologyKeys?: string[]
}

/** CSINodeSpec holds information about the specification of all CSI drivers installed on a node */
export interface CSINodeSpec {
  /** drivers is a list of information of all CSI Drivers existing on a node. If all drivers in the list are uninstalled, this can become empty. */
  drivers: CSINodeDriver[]
}

/** CSIStorageCapacity stores the result of one CSI GetCapacity call. For a given StorageClass, this describes the available capacity in a particular topology segment. This can be used when considering where to instantiate new PersistentVolumes. */
export interface CSIStorageCapacity {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** capacity is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest with topology and parameters that match the previous fields. */
  capacity?: Quantity
  /** The kind. */
  kind: 'CSIStorageCapacity'
  /** maximumVolumeSize is the value reported by the CSI driver in its GetCapacityResponse for a GetCapacityRequest with topology and parameters that match the previous fields. */
  maximumVolumeSize?: Quantity
  /** Standard object's metadata. The name has no particular meaning. It must be a DNS subdomain (dots allowed, 253 characters). */
  metadata: ObjectMeta
  /** nodeTopology defines which nodes have access to the storage for which capacity was reported. If not set, the storage is not accessible from any node in the cluster. If empty, the storage is accessible from all nodes. This field is immutable. */
  nodeTopology?: LabelSelector
  /** storageClassName represents the name of the StorageClass that the reported capacity applies to. It must meet the same requirements as the name of a StorageClass object (non-empty, DNS subdomain). */
  storageClassName: string
}
/** CSIStorageCapacity stores the result of one CSI GetCapacity call. For a given StorageClass, this describes the available capacity in a particular topology segment. This can be used when considering where to instantiate new PersistentVolumes. */
export const CSIStorageCapacity: BuiltinResource<CSIStorageCapacity, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'CSIStorageCapacity', 'csistoragecapacities', 'Namespaced')

/** StorageClass describes the parameters for a class of storage for which PersistentVolumes can be dynamically provisioned. StorageClasses are non-namespaced; the name of the storage class according to etcd is in ObjectMeta.Name. */
export interface StorageClass {
  /** allowVolumeExpansion shows whether the storage class allow volume expand. */
  allowVolumeExpansion?: boolean
  /** allowedTopologies restrict the node topologies where volumes can be dynamically provisioned. Each volume plugin defines its own supported topology specifications. An empty TopologySelectorTerm list means there is no topology restriction. */
  allowedTopologies?: TopologySelectorTerm[]
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** The kind. */
  kind: 'StorageClass'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** mountOptions controls the mountOptions for dynamically provisioned PersistentVolumes of this storage class. e.g. ["ro", "soft"]. Not validated - mount of the PVs will simply fail if one is invalid. */
  mountOptions?: string[]
  /** parameters holds the parameters for the provisioner that should create volumes of this storage class. */
  parameters?: { [key: string]: string }
  /** provisioner indicates the type of the provisioner. */
  provisioner: string
  /** reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete. */
  reclaimPolicy?: string
  /** volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound. When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature. */
  volumeBindingMode?: string
}
/** StorageClass describes the parameters for a class of storage for which PersistentVolumes can be dynamically provisioned. StorageClasses are non-namespaced; the name of the storage class according to etcd is in ObjectMeta.Name. */
export const StorageClass: BuiltinResource<StorageClass, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses', 'Cluster')

/** TokenRequest contains parameters of a service account token. */
export interface TokenRequest {
  /** audience is the intended audience of the token in "TokenRequestSpec". It will default to the audiences of kube apiserver. */
  audience: string
  /** expirationSeconds is the duration of validity of the token in "TokenRequestSpec". It has the same default value of "ExpirationSeconds" in "TokenRequestSpec". */
  expirationSeconds?: number
}

/** VolumeAttachment captures the intent to attach or detach the specified volume to/from the specified node. VolumeAttachment objects are non-namespaced. */
export interface VolumeAttachment {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** The kind. */
  kind: 'VolumeAttachment'
  /** Standard object metadata. */
  metadata: ObjectMeta
  /** spec represents specification of the desired attach/detach volume behavior. Populated by the Kubernetes system. */
  spec: VolumeAttachmentSpec
  /** status represents status of the VolumeAttachment request. Populated by the entity completing the attach or detach operation, i.e. the external-attacher. */
  status?: VolumeAttachmentStatus
}
/** VolumeAttachment captures the intent to attach or detach the specified volume to/from the specified node. VolumeAttachment objects are non-namespaced. */
export const VolumeAttachment: BuiltinResource<VolumeAttachment, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'VolumeAttachment', 'volumeattachments', 'Cluster')

/** VolumeAttachmentSource represents a volume that should be attached. Right now only PersistentVolumes can be attached via external attacher, in the future we may allow also inline volumes in pods. Exactly one member can be set. */
export interface VolumeAttachmentSource {
  /** inlineVolumeSpec contains all the information necessary to attach a persistent volume defined by a pod's inline VolumeSource. This field is populated only for the CSIMigration feature. It contains translated fields from a pod's inline VolumeSource to a PersistentVolumeSpec. */
  inlineVolumeSpec?: PersistentVolumeSpec
  /** persistentVolumeName represents the name of the persistent volume to attach. */
  persistentVolumeName?: string
}

/** VolumeAttachmentSpec is the specification of a VolumeAttachment request. */
export interface VolumeAttachmentSpec {
  /** attacher indicates the name of the volume driver that MUST handle this request. This is the name returned by GetPluginName(). */
  attacher: string
  /** nodeName represents the node that the volume should be attached to. */
  nodeName: string
  /** source represents the volume that should be attached. */
  source: VolumeAttachmentSource
}

/** VolumeAttachmentStatus is the status of a VolumeAttachment request. */
export interface VolumeAttachmentStatus {
  /** attachError represents the last error encountered during attach operation, if any. This field must only be set by the entity completing the attach operation, i.e. the external-attacher. */
  attachError?: VolumeError
  /** attached indicates the volume is successfully attached. This field must only be set by the entity completing the attach operation, i.e. the external-attacher. */
  attached: boolean
  /** attachmentMetadata is populated with any information returned by the attach operation, upon successful attach, that must be passed into subsequent WaitForAttach or Mount calls. This field must only be set by the entity completing the attach operation, i.e. the external-attacher. */
  attachmentMetadata?: { [key: string]: string }
  /** detachError represents the last error encountered during detach operation, if any. This field must only be set by the entity completing the detach operation, i.e. the external-attacher. */
  detachError?: VolumeError
}

/** VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the PersistentVolumeClaim spec after provisioning. */
export interface VolumeAttributesClass {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1'
  /** Name of the CSI driver This field is immutable. */
  driverName: string
  /** The kind. */
  kind: 'VolumeAttributesClass'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** parameters hold volume attributes defined by the CSI driver. These values are opaque to the Kubernetes and are passed directly to the CSI driver. The underlying storage provider supports changing these attributes on an existing volume, however the parameters field itself is immutable. */
  parameters?: { [key: string]: string }
}
/** VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the PersistentVolumeClaim spec after provisioning. */
export const VolumeAttributesClass: BuiltinResource<VolumeAttributesClass, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1', 'VolumeAttributesClass', 'volumeattributesclasses', 'Cluster')

/** VolumeError captures an error encountered during a volume operation. */
export interface VolumeError {
  /** errorCode is a numeric gRPC code representing the error encountered during Attach or Detach operations. This field requires the MutableCSINodeAllocatableCount feature gate being enabled to be set. */
  errorCode?: number
  /** message represents the error encountered during Attach or Detach operation. This string may be logged, so it should not contain sensitive information. */
  message?: string
  /** time represents the time the error was encountered. */
  time?: string
}

/** VolumeNodeResources is a set of resource limits for scheduling of volumes. */
export interface VolumeNodeResources {
  /** count indicates the maximum number of unique volumes managed by the CSI driver that can be used on a node. A volume that is both attached and mounted on a node is considered to be used once, not twice. The same rule applies for a unique volume that is shared among multiple pods on the same node. */
  count?: number
}
