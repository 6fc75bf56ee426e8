/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectReference } from '../core/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** Endpoint represents a single logical "backend" implementing a service. */
export interface Endpoint {
  /** addresses of this endpoint. For EndpointSlices of addressType "IPv4" or "IPv6", the values are IP addresses in canonical form. The syntax and semantics of other addressType values are not defined. This must contain at least one address but no more than 100. */
  addresses: string[]
  /** conditions contains information about the current status of the endpoint. */
  conditions?: EndpointConditions
  /** deprecatedTopology contains topology information part of the v1beta1 API. This field is deprecated, and will be removed when the v1beta1 API is removed (no sooner than kubernetes v1.24). */
  deprecatedTopology?: { [key: string]: string }
  /** hints contains information associated with how an endpoint should be consumed. */
  hints?: EndpointHints
  /** hostname of this endpoint. This field may be used by consumers of endpoints to distinguish endpoints from each other (e.g. in DNS names). Multiple endpoints which use the same hostname should be considered fungible (e.g. multiple A values in DNS). */
  hostname?: string
  /** nodeName represents the name of the Node hosting this endpoint. This can be used to determine endpoints local to a Node. */
  nodeName?: string
  /** targetRef is a reference to a Kubernetes object that represents this endpoint. */
  targetRef?: ObjectReference
  /** zone is the name of the Zone this endpoint exists in. */
  zone?: string
}

/** EndpointConditions represents the current condition of an endpoint. */
export interface EndpointConditions {
  /** ready indicates that this endpoint is ready to receive traffic, according to whatever system is managing the endpoint. A nil value should be interpreted as "true". */
  ready?: boolean
  /** serving indicates that this endpoint is able to receive traffic, according to whatever system is managing the endpoint. For endpoints backed by pods, the EndpointSlice controller will mark the endpoint as serving if the pod's Ready condition is True. A nil value should be interpreted as "true". */
  serving?: boolean
  /** terminating indicates that this endpoint is terminating. A nil value should be interpreted as "false". */
  terminating?: boolean
}

/** EndpointHints provides hints describing how an endpoint should be consumed. */
export interface EndpointHints {
  /** forNodes indicates the node(s) this endpoint should be consumed by when using topology aware routing. May contain a maximum of 8 entries. */
  forNodes?: ForNode[]
  /** forZones indicates the zone(s) this endpoint should be consumed by when using topology aware routing. May contain a maximum of 8 entries. */
  forZones?: ForZone[]
}

/** EndpointPort represents a Port used by an EndpointSlice */
export interface EndpointPort {
  /** The application protocol for this port. This is used as a hint for implementations to offer richer behavior for protocols that they understand. This field follows standard Kubernetes label syntax. */
  appProtocol?: string
  /** name represents the name of this port. All ports in an EndpointSlice must have a unique name. If the EndpointSlice is derived from a Kubernetes service, this corresponds to the Service.ports[].name. */
  name?: string
  /** port represents the port number of the endpoint. If the EndpointSlice is derived from a Kubernetes service, this must be set to the service's target port. EndpointSlices used for other purposes may have a nil port. */
  port?: number
  /** protocol represents the IP protocol for this port. Must be UDP, TCP, or SCTP. Default is TCP. */
  protocol?: string
}

/** EndpointSlice represents a set of service endpoints. Most EndpointSlices are created by the EndpointSlice controller to represent the Pods selected by Service objects. */
export interface EndpointSlice {
  /** addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. */
  addressType: string
  /** The group and version. */
  apiVersion: 'discovery.k8s.io/v1'
  /** endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints. */
  endpoints?: Endpoint[]
  /** The kind. */
  kind: 'EndpointSlice'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. Each slice may include a maximum of 100 ports. */
  ports?: EndpointPort[]
}
/** EndpointSlice represents a set of service endpoints. Most EndpointSlices are created by the EndpointSlice controller to represent the Pods selected by Service objects. */
export const EndpointSlice: BuiltinResource<EndpointSlice, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices', 'Namespaced')

/** ForNode provides information about which nodes should consume this endpoint. */
export interface ForNode {
  /** name represents the name of the node. */
  name: string
}

/** ForZone provides information about which zones should consume this endpoint. */
export interface ForZone {
  /** name represents the name of the zone. */
  name: string
}
