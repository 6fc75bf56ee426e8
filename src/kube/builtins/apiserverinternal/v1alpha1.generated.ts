/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** An API server instance reports the version it can decode and the version it encodes objects to when persisting objects in the backend. */
export interface ServerStorageVersion {
  /** apiServerID is the ID of the reporting API server. */
  apiServerID: string
  /** decodableVersions are the encoding versions the API server can handle to decode. The API server can decode objects encoded in these versions. The encodingVersion must be included in the decodableVersions. */
  decodableVersions: string[]
  /** encodingVersion the API server encodes the object to when persisting it in the backend (e.g., etcd). */
  encodingVersion: string
  /** servedVersions lists all versions the API server can serve. DecodableVersions must include all ServedVersions. */
  servedVersions?: string[]
}

/** Storage version of a specific resource. */
export interface StorageVersion {
  /** The group and version. */
  apiVersion: 'internal.apiserver.k8s.io/v1alpha1'
  /** The kind. */
  kind: 'StorageVersion'
  /** metadata is the standard object metadata. The name is <group>.<resource>. */
  metadata: ObjectMeta
  /** spec is an empty spec. It is here to comply with Kubernetes API style. */
  spec?: StorageVersionSpec
  /** status on the version the API server instance can decode from and encode objects to when persisting objects in the backend. */
  status?: StorageVersionStatus
}
/** Storage version of a specific resource. */
export const StorageVersion: BuiltinResource<StorageVersion, 'Cluster'> = /* @__PURE__ */ defineBuiltin('internal.apiserver.k8s.io', 'v1alpha1', 'StorageVersion', 'storageversions', 'Cluster')

/** Describes the state of the storageVersion at a certain point. */
export interface StorageVersionCondition {
  /** lastTransitionTime is the last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** message is a human readable string indicating details about the transition. */
  message: string
  /** observedGeneration represents the .metadata.generation that the condition was set based upon, if field is set. */
  observedGeneration?: number
  /** reason for the condition's last transition. */
  reason: string
  /** status of the condition, one of True, False, Unknown. */
  status: string
  /** type of the condition. */
  type: string
}

/** StorageVersionSpec is an empty spec. */
export type StorageVersionSpec = { [field: string]: unknown }

/** API server instances report the versions they can decode and the version they encode objects to when persisting objects in the backend. */
export interface StorageVersionStatus {
  /** commonEncodingVersion is set to an encoding storage version if all API server instances share that same version. If they don't share one storage version, this field is left empty. */
  commonEncodingVersion?: string
  /** conditions lists the latest available observations of the storageVersion's state. */
  conditions?: StorageVersionCondition[]
  /** storageVersions lists the reported versions per API server instance. */
  storageVersions?: ServerStorageVersion[]
}
