/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** APIService represents a server for a particular GroupVersion. Name must be "version.group". */
export interface APIService {
  /** The group and version. */
  apiVersion: 'apiregistration.k8s.io/v1'
  /** The kind. */
  kind: 'APIService'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Spec contains information for locating and communicating with a server */
  spec: APIServiceSpec
  /** Status contains derived information about an API server */
  status?: APIServiceStatus
}
/** APIService represents a server for a particular GroupVersion. Name must be "version.group". */
export const APIService: BuiltinResource<APIService, 'Cluster'> = /* @__PURE__ */ defineBuiltin('apiregistration.k8s.io', 'v1', 'APIService', 'apiservices', 'Cluster')

/** APIServiceCondition describes the state of an APIService at a particular point */
export interface APIServiceCondition {
  /** Last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** Human-readable message indicating details about last transition. */
  message?: string
  /** Unique, one-word, CamelCase reason for the condition's last transition. */
  reason?: string
  /** Status is the status of the condition. Can be True, False, Unknown. */
  status: string
  /** Type is the type of the condition. */
  type: string
}

/** APIServiceSpec contains information for locating and communicating with a server. Only https is supported, though you are able to disable certificate verification. */
export interface APIServiceSpec {
  /** CABundle is a PEM encoded CA bundle which will be used to validate an API server's serving certificate. If unspecified, system trust roots on the apiserver are used. */
  caBundle?: string
  /** Group is the API group name this server hosts */
  group?: string
  /** GroupPriorityMinimum is the priority this group should have at least. Higher priority means that the group is preferred by clients over lower priority ones. Note that other versions of this group might specify even higher GroupPriorityMinimum values such that the whole group gets a higher priority. */
  groupPriorityMinimum: number
  /** InsecureSkipTLSVerify disables TLS certificate verification when communicating with this server. This is strongly discouraged. You should use the CABundle instead. */
  insecureSkipTLSVerify?: boolean
  /** Service is a reference to the service for this API server. It must communicate on port 443. If the Service is nil, that means the handling for the API groupversion is handled locally on this server. The call will simply delegate to the normal handler chain to be fulfilled. */
  service?: ServiceReference
  /** Version is the API version this server hosts. For example, "v1" */
  version?: string
  /** VersionPriority controls the ordering of this API version inside of its group. Must be greater than zero. The primary sort is based on VersionPriority, ordered highest to lowest (20 before 10). Since it's inside of a group, the number can be small, probably in the 10s. */
  versionPriority: number
}

/** APIServiceStatus contains derived information about an API server */
export interface APIServiceStatus {
  /** Current service state of apiService. */
  conditions?: APIServiceCondition[]
}

/** ServiceReference holds a reference to Service.legacy.k8s.io */
export interface ServiceReference {
  /** Name is the name of the service */
  name?: string
  /** Namespace is the namespace of the service */
  namespace?: string
  /** If specified, the port on the service that hosting webhook. Default to 443 for backward compatibility. `port` should be a valid port number (1-65535, inclusive). */
  port?: number
}
