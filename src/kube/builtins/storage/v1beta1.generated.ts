/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** VolumeAttributesClass represents a specification of mutable volume attributes defined by the CSI driver. The class can be specified during dynamic provisioning of PersistentVolumeClaims, and changed in the PersistentVolumeClaim spec after provisioning. */
export interface VolumeAttributesClass {
  /** The group and version. */
  apiVersion: 'storage.k8s.io/v1beta1'
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
export const VolumeAttributesClass: BuiltinResource<VolumeAttributesClass, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storage.k8s.io', 'v1beta1', 'VolumeAttributesClass', 'volumeattributesclasses', 'Cluster')
