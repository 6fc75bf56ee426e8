/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { Condition, GroupResource } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** StorageVersionMigration represents a migration of stored data to the latest storage version. */
export interface StorageVersionMigration {
  /** The group and version. */
  apiVersion: 'storagemigration.k8s.io/v1beta1'
  /** The kind. */
  kind: 'StorageVersionMigration'
  /** Standard object metadata. */
  metadata: ObjectMeta
  /** Specification of the migration. */
  spec: StorageVersionMigrationSpec
  /** Status of the migration. */
  status?: StorageVersionMigrationStatus
}
/** StorageVersionMigration represents a migration of stored data to the latest storage version. */
export const StorageVersionMigration: BuiltinResource<StorageVersionMigration, 'Cluster'> = /* @__PURE__ */ defineBuiltin('storagemigration.k8s.io', 'v1beta1', 'StorageVersionMigration', 'storageversionmigrations', 'Cluster')

/** Spec of the storage version migration. */
export interface StorageVersionMigrationSpec {
  /** The resource that is being migrated. The migrator sends requests to the endpoint serving the resource. Immutable. */
  resource: GroupResource
}

/** Status of the storage version migration. */
export interface StorageVersionMigrationStatus {
  /** The latest available observations of the migration's current state. */
  conditions?: Condition[]
  /** ResourceVersion to compare with the GC cache for performing the migration. This is the current resource version of given group, version and resource when kube-controller-manager first observes this StorageVersionMigration resource. */
  resourceVersion?: string
}
