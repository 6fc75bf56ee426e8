/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** Lease defines a lease concept. */
export interface Lease {
  /** The group and version. */
  apiVersion: 'coordination.k8s.io/v1'
  /** The kind. */
  kind: 'Lease'
  /** More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata: ObjectMeta
  /** spec contains the specification of the Lease. */
  spec?: LeaseSpec
}
/** Lease defines a lease concept. */
export const Lease: BuiltinResource<Lease, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('coordination.k8s.io', 'v1', 'Lease', 'leases', 'Namespaced')

/** LeaseSpec is a specification of a Lease. */
export interface LeaseSpec {
  /** acquireTime is a time when the current lease was acquired. */
  acquireTime?: string
  /** holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field. */
  holderIdentity?: string
  /** leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it. This is measured against the time of last observed renewTime. */
  leaseDurationSeconds?: number
  /** leaseTransitions is the number of transitions of a lease between holders. */
  leaseTransitions?: number
  /** PreferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up. This field can only be set if Strategy is also set. */
  preferredHolder?: string
  /** renewTime is a time when the current holder of a lease has last updated the lease. */
  renewTime?: string
  /** Strategy indicates the strategy for picking the leader for coordinated leader election. If the field is not specified, there is no active coordination for this lease. (Alpha) Using this field requires the CoordinatedLeaderElection feature gate to be enabled. */
  strategy?: string
}
