/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { Condition } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** IPAddress represents a single IP of a single IP Family. The object is designed to be used by APIs that operate on IP addresses. The object is used by the Service core API for allocation of IP addresses. */
export interface IPAddress {
  /** The group and version. */
  apiVersion: 'networking.k8s.io/v1beta1'
  /** The kind. */
  kind: 'IPAddress'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** spec is the desired state of the IPAddress. */
  spec: IPAddressSpec
}
/** IPAddress represents a single IP of a single IP Family. The object is designed to be used by APIs that operate on IP addresses. The object is used by the Service core API for allocation of IP addresses. */
export const IPAddress: BuiltinResource<IPAddress, 'Cluster'> = /* @__PURE__ */ defineBuiltin('networking.k8s.io', 'v1beta1', 'IPAddress', 'ipaddresses', 'Cluster')

/** IPAddressSpec describe the attributes in an IP Address. */
export interface IPAddressSpec {
  /** ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object. */
  parentRef: ParentReference
}

/** ParentReference describes a reference to a parent object. */
export interface ParentReference {
  /** Group is the group of the object being referenced. */
  group?: string
  /** Name is the name of the object being referenced. */
  name: string
  /** Namespace is the namespace of the object being referenced. */
  namespace?: string
  /** Resource is the resource of the object being referenced. */
  resource: string
}

/** ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or 2001:db2::/64). This range is used to allocate ClusterIPs to Service objects. */
export interface ServiceCIDR {
  /** The group and version. */
  apiVersion: 'networking.k8s.io/v1beta1'
  /** The kind. */
  kind: 'ServiceCIDR'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** spec is the desired state of the ServiceCIDR. */
  spec?: ServiceCIDRSpec
  /** status represents the current state of the ServiceCIDR. */
  status?: ServiceCIDRStatus
}
/** ServiceCIDR defines a range of IP addresses using CIDR format (e.g. 192.168.0.0/24 or 2001:db2::/64). This range is used to allocate ClusterIPs to Service objects. */
export const ServiceCIDR: BuiltinResource<ServiceCIDR, 'Cluster'> = /* @__PURE__ */ defineBuiltin('networking.k8s.io', 'v1beta1', 'ServiceCIDR', 'servicecidrs', 'Cluster')

/** ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for Services. */
export interface ServiceCIDRSpec {
  /** CIDRs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This field is immutable. */
  cidrs?: string[]
}

/** ServiceCIDRStatus describes the current state of the ServiceCIDR. */
export interface ServiceCIDRStatus {
  /** conditions holds an array of metav1.Condition that describe the state of the ServiceCIDR. Current service state */
  conditions?: Condition[]
}
