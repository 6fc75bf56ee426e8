/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** LeaseCandidate defines a candidate for a Lease object. Candidates are created such that coordinated leader election will pick the best leader from the list of candidates. */
export interface LeaseCandidate {
  /** The group and version. */
  apiVersion: 'coordination.k8s.io/v1alpha2'
  /** The kind. */
  kind: 'LeaseCandidate'
  /** More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata */
  metadata: ObjectMeta
  /** spec contains the specification of the Lease. */
  spec: LeaseCandidateSpec
}
/** LeaseCandidate defines a candidate for a Lease object. Candidates are created such that coordinated leader election will pick the best leader from the list of candidates. */
export const LeaseCandidate: BuiltinResource<LeaseCandidate, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('coordination.k8s.io', 'v1alpha2', 'LeaseCandidate', 'leasecandidates', 'Namespaced')

/** LeaseCandidateSpec is a specification of a Lease. */
export interface LeaseCandidateSpec {
  /** BinaryVersion is the binary version. It must be in a semver format without leading `v`. This field is required. */
  binaryVersion: string
  /** EmulationVersion is the emulation version. It must be in a semver format without leading `v`. EmulationVersion must be less than or equal to BinaryVersion. This field is required when strategy is "OldestEmulationVersion" */
  emulationVersion?: string
  /** LeaseName is the name of the lease for which this candidate is contending. This field is immutable. */
  leaseName: string
  /** PingTime is the last time that the server has requested the LeaseCandidate to renew. It is only done during leader election to check if any LeaseCandidates have become ineligible. When PingTime is updated, the LeaseCandidate will respond by updating RenewTime. */
  pingTime?: string
  /** RenewTime is the time that the LeaseCandidate was last updated. Any time a Lease needs to do leader election, the PingTime field is updated to signal to the LeaseCandidate that they should update the RenewTime. */
  renewTime?: string
  /** Strategy is the strategy that coordinated leader election will use for picking the leader. If multiple candidates for the same Lease return different strategies, the strategy provided by the candidate with the latest BinaryVersion will be used. */
  strategy: string
}
