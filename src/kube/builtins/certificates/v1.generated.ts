/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** CertificateSigningRequest objects provide a mechanism to obtain x509 certificates by submitting a certificate signing request, and having it asynchronously approved and issued. */
export interface CertificateSigningRequest {
  /** The group and version. */
  apiVersion: 'certificates.k8s.io/v1'
  /** The kind. */
  kind: 'CertificateSigningRequest'
  /** The field `metadata` of the API. */
  metadata: ObjectMeta
  /** spec contains the certificate request, and is immutable after creation. Only the request, signerName, expirationSeconds, and usages fields can be set on creation. Other fields are derived by Kubernetes and cannot be modified by users. */
  spec: CertificateSigningRequestSpec
  /** status contains information about whether the request is approved or denied, and the certificate issued by the signer, or the failure condition indicating signer failure. */
  status?: CertificateSigningRequestStatus
}
/** CertificateSigningRequest objects provide a mechanism to obtain x509 certificates by submitting a certificate signing request, and having it asynchronously approved and issued. */
export const CertificateSigningRequest: BuiltinResource<CertificateSigningRequest, 'Cluster'> = /* @__PURE__ */ defineBuiltin('certificates.k8s.io', 'v1', 'CertificateSigningRequest', 'certificatesigningrequests', 'Cluster')

/** CertificateSigningRequestCondition describes a condition of a CertificateSigningRequest object */
export interface CertificateSigningRequestCondition {
  /** lastTransitionTime is the time the condition last transitioned from one status to another. If unset, when a new condition type is added or an existing condition's status is changed, the server defaults this to the current time. */
  lastTransitionTime?: string
  /** lastUpdateTime is the time of the last update to this condition */
  lastUpdateTime?: string
  /** message contains a human readable message with details about the request state */
  message?: string
  /** reason indicates a brief reason for the request state */
  reason?: string
  /** status of the condition, one of True, False, Unknown. Approved, Denied, and Failed conditions may not be "False" or "Unknown". */
  status: string
  /** type of the condition. Known conditions are "Approved", "Denied", and "Failed". An "Approved" condition is added via the /approval subresource, indicating the request was approved and should be issued by the signer. */
  type: string
}

/** CertificateSigningRequestSpec contains the certificate request. */
export interface CertificateSigningRequestSpec {
  /** expirationSeconds is the requested duration of validity of the issued certificate. */
  expirationSeconds?: number
  /** extra contains extra attributes of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable. */
  extra?: { [key: string]: string[] }
  /** groups contains group membership of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable. */
  groups?: string[]
  /** request contains an x509 certificate signing request encoded in a "CERTIFICATE REQUEST" PEM block. When serialized as JSON or YAML, the data is additionally base64-encoded. */
  request: string
  /** signerName indicates the requested signer, and is a qualified name. List/watch requests for CertificateSigningRequests can filter on this field using a "spec.signerName=NAME" fieldSelector. */
  signerName: string
  /** uid contains the uid of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable. */
  uid?: string
  /** usages specifies a set of key usages requested in the issued certificate. Requests for TLS client certificates typically request: "digital signature", "key encipherment", "client auth". Requests for TLS serving certificates typically request: "key encipherment", "digital signature", "server auth". */
  usages?: string[]
  /** username contains the name of the user that created the CertificateSigningRequest. Populated by the API server on creation and immutable. */
  username?: string
}

/** CertificateSigningRequestStatus contains conditions used to indicate approved/denied/failed status of the request, and the issued certificate. */
export interface CertificateSigningRequestStatus {
  /** certificate is populated with an issued certificate by the signer after an Approved condition is present. This field is set via the /status subresource. Once populated, this field is immutable. */
  certificate?: string
  /** conditions applied to the request. Known conditions are "Approved", "Denied", and "Failed". */
  conditions?: CertificateSigningRequestCondition[]
}
