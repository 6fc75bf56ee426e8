/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** ClusterTrustBundle is a cluster-scoped container for X.509 trust anchors (root certificates). ClusterTrustBundle objects are considered to be readable by any authenticated user in the cluster, because they can be mounted by pods using the `clusterTrustBundle` projection. */
export interface ClusterTrustBundle {
  /** The group and version. */
  apiVersion: 'certificates.k8s.io/v1alpha1'
  /** The kind. */
  kind: 'ClusterTrustBundle'
  /** metadata contains the object metadata. */
  metadata: ObjectMeta
  /** spec contains the signer (if any) and trust anchors. */
  spec: ClusterTrustBundleSpec
}
/** ClusterTrustBundle is a cluster-scoped container for X.509 trust anchors (root certificates). ClusterTrustBundle objects are considered to be readable by any authenticated user in the cluster, because they can be mounted by pods using the `clusterTrustBundle` projection. */
export const ClusterTrustBundle: BuiltinResource<ClusterTrustBundle, 'Cluster'> = /* @__PURE__ */ defineBuiltin('certificates.k8s.io', 'v1alpha1', 'ClusterTrustBundle', 'clustertrustbundles', 'Cluster')

/** ClusterTrustBundleSpec contains the signer and trust anchors. */
export interface ClusterTrustBundleSpec {
  /** signerName indicates the associated signer, if any. In order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=certificates.k8s.io resource=signers resourceName=<the signer name> verb=attest. */
  signerName?: string
  /** trustBundle contains the individual X.509 trust anchors for this bundle, as PEM bundle of PEM-wrapped, DER-formatted X.509 certificates. The data must consist only of PEM certificate blocks that parse as valid X.509 certificates. */
  trustBundle: string
}
