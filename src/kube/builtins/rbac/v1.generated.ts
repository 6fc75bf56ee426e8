/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { LabelSelector } from '../meta/v1.generated.ts'
import type { ObjectMeta } from '../../objects.ts'

/** AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole */
export interface AggregationRule {
  /** ClusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules. If any of the selectors match, then the ClusterRole's permissions will be added */
  clusterRoleSelectors?: LabelSelector[]
}

/** ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding or ClusterRoleBinding. */
export interface ClusterRole {
  /** AggregationRule is an optional field that describes how to build the Rules for this ClusterRole. If AggregationRule is set, then the Rules are controller managed and direct changes to Rules will be stomped by the controller. */
  aggregationRule?: AggregationRule
  /** The group and version. */
  apiVersion: 'rbac.authorization.k8s.io/v1'
  /** The kind. */
  kind: 'ClusterRole'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Rules holds all the PolicyRules for this ClusterRole */
  rules?: PolicyRule[]
}
/** ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding or ClusterRoleBinding. */
export const ClusterRole: BuiltinResource<ClusterRole, 'Cluster'> = /* @__PURE__ */ defineBuiltin('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', 'Cluster')

/** ClusterRoleBinding references a ClusterRole, but not contain it. It can reference a ClusterRole in the global namespace, and adds who information via Subject. */
export interface ClusterRoleBinding {
  /** The group and version. */
  apiVersion: 'rbac.authorization.k8s.io/v1'
  /** The kind. */
  kind: 'ClusterRoleBinding'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable. */
  roleRef: RoleRef
  /** Subjects holds references to the objects the role applies to. */
  subjects?: Subject[]
}
/** ClusterRoleBinding references a ClusterRole, but not contain it. It can reference a ClusterRole in the global namespace, and adds who information via Subject. */
export const ClusterRoleBinding: BuiltinResource<ClusterRoleBinding, 'Cluster'> = /* @__PURE__ */ defineBuiltin('rbac.authorization.k8s.io', 'v1', 'ClusterRoleBinding', 'clusterrolebindings', 'Cluster')

/** PolicyRule holds information that describes a policy rule, but does not contain information about who the rule applies to or which namespace the rule applies to. */
export interface PolicyRule {
  /** APIGroups is the name of the APIGroup that contains the resources. If multiple API groups are specified, any action requested against one of the enumerated resources in any API group will be allowed. "" represents the core API group and "*" represents all API groups. */
  apiGroups?: string[]
  /** NonResourceURLs is a set of partial urls that a user should have access to. *s are allowed, but only as the full, final step in the path Since non-resource URLs are not namespaced, this field is only applicable for ClusterRoles referenced from a ClusterRoleBinding. */
  nonResourceURLs?: string[]
  /** ResourceNames is an optional white list of names that the rule applies to. An empty set means that everything is allowed. */
  resourceNames?: string[]
  /** Resources is a list of resources this rule applies to. '*' represents all resources. */
  resources?: string[]
  /** Verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. '*' represents all verbs. */
  verbs: string[]
}

/** Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding. */
export interface Role {
  /** The group and version. */
  apiVersion: 'rbac.authorization.k8s.io/v1'
  /** The kind. */
  kind: 'Role'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** Rules holds all the PolicyRules for this Role */
  rules?: PolicyRule[]
}
/** Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding. */
export const Role: BuiltinResource<Role, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('rbac.authorization.k8s.io', 'v1', 'Role', 'roles', 'Namespaced')

/** RoleBinding references a role, but does not contain it. It can reference a Role in the same namespace or a ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which namespace it exists in. */
export interface RoleBinding {
  /** The group and version. */
  apiVersion: 'rbac.authorization.k8s.io/v1'
  /** The kind. */
  kind: 'RoleBinding'
  /** Standard object's metadata. */
  metadata: ObjectMeta
  /** RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error. This field is immutable. */
  roleRef: RoleRef
  /** Subjects holds references to the objects the role applies to. */
  subjects?: Subject[]
}
/** RoleBinding references a role, but does not contain it. It can reference a Role in the same namespace or a ClusterRole in the global namespace. It adds who information via Subjects and namespace information by which namespace it exists in. */
export const RoleBinding: BuiltinResource<RoleBinding, 'Namespaced'> = /* @__PURE__ */ defineBuiltin('rbac.authorization.k8s.io', 'v1', 'RoleBinding', 'rolebindings', 'Namespaced')

/** RoleRef contains information that points to the role being used */
export interface RoleRef {
  /** APIGroup is the group for the resource being referenced */
  apiGroup?: string
  /** Kind is the type of resource being referenced */
  kind: string
  /** Name is the name of resource being referenced */
  name: string
}

/** Subject contains a reference to the object or user identities a role binding applies to. This can either hold a direct API object reference, or a value for non-objects such as user and group names. */
export interface Subject {
  /** APIGroup holds the API group of the referenced subject. Defaults to "" for ServiceAccount subjects. Defaults to "rbac.authorization.k8s.io" for User and Group subjects. */
  apiGroup?: string
  /** Kind of object being referenced. Values defined by this API group are "User", "Group", and "ServiceAccount". If the Authorizer does not recognized the kind value, the Authorizer should report an error. */
  kind: string
  /** Name of the object being referenced. */
  name: string
  /** Namespace of the referenced object. If the object kind is non-namespace, such as "User" or "Group", and this value is not empty the Authorizer should report an error. */
  namespace?: string
}
