/** Written by tools/builtins/generate-types.ts from the OpenAPI documents of Kubernetes. */
import { type BuiltinResource, defineBuiltin } from '../builtin-resource.ts'
import type { ObjectMeta } from '../../objects.ts'

/** ExemptPriorityLevelConfiguration describes the configurable aspects of the handling of exempt requests. In the mandatory exempt configuration object the values in the fields here can be modified by authorized users, unlike the rest of the `spec`. */
export interface ExemptPriorityLevelConfiguration {
  /** `lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels. This value of this field must be between 0 and 100, inclusive, and it defaults to 0. */
  lendablePercent?: number
  /** `nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats nominally reserved for this priority level. */
  nominalConcurrencyShares?: number
}

/** FlowDistinguisherMethod specifies the method of a flow distinguisher. */
export interface FlowDistinguisherMethod {
  /** `type` is the type of flow distinguisher method The supported types are "ByUser" and "ByNamespace". Required. */
  type: string
}

/** FlowSchema defines the schema of a group of flows. Note that a flow is made up of a set of inbound API requests with similar attributes and is identified by a pair of strings: the name of the FlowSchema and a "flow distinguisher". */
export interface FlowSchema {
  /** The group and version. */
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1'
  /** The kind. */
  kind: 'FlowSchema'
  /** `metadata` is the standard object's metadata. */
  metadata: ObjectMeta
  /** `spec` is the specification of the desired behavior of a FlowSchema. */
  spec: FlowSchemaSpec
  /** `status` is the current status of a FlowSchema. */
  status?: FlowSchemaStatus
}
/** FlowSchema defines the schema of a group of flows. Note that a flow is made up of a set of inbound API requests with similar attributes and is identified by a pair of strings: the name of the FlowSchema and a "flow distinguisher". */
export const FlowSchema: BuiltinResource<FlowSchema, 'Cluster'> = /* @__PURE__ */ defineBuiltin('flowcontrol.apiserver.k8s.io', 'v1', 'FlowSchema', 'flowschemas', 'Cluster')

/** FlowSchemaCondition describes conditions for a FlowSchema. */
export interface FlowSchemaCondition {
  /** `lastTransitionTime` is the last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** `message` is a human-readable message indicating details about last transition. */
  message?: string
  /** `reason` is a unique, one-word, CamelCase reason for the condition's last transition. */
  reason?: string
  /** `status` is the status of the condition. Can be True, False, Unknown. Required. */
  status?: string
  /** `type` is the type of the condition. Required. */
  type?: string
}

/** FlowSchemaSpec describes how the FlowSchema's specification looks like. */
export interface FlowSchemaSpec {
  /** `distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string. */
  distinguisherMethod?: FlowDistinguisherMethod
  /** `matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence. Each MatchingPrecedence value must be ranged in [1,10000]. */
  matchingPrecedence?: number
  /** `priorityLevelConfiguration` should reference a PriorityLevelConfiguration in the cluster. If the reference cannot be resolved, the FlowSchema will be ignored and marked as invalid in its status. Required. */
  priorityLevelConfiguration: PriorityLevelConfigurationReference
  /** `rules` describes which requests will match this flow schema. This FlowSchema matches a request if and only if at least one member of rules matches the request. if it is an empty slice, there will be no requests matching the FlowSchema. */
  rules?: PolicyRulesWithSubjects[]
}

/** FlowSchemaStatus represents the current state of a FlowSchema. */
export interface FlowSchemaStatus {
  /** `conditions` is a list of the current states of FlowSchema. */
  conditions?: FlowSchemaCondition[]
}

/** GroupSubject holds detailed information for group-kind subject. */
export interface GroupSubject {
  /** name is the user group that matches, or "*" to match all user groups. See https://github.com/kubernetes/apiserver/blob/master/pkg/authentication/user/user.go for some well-known group names. Required. */
  name: string
}

/** LimitResponse defines how to handle requests that can not be executed right now. */
export interface LimitResponse {
  /** `queuing` holds the configuration parameters for queuing. This field may be non-empty only if `type` is `"Queue"`. */
  queuing?: QueuingConfiguration
  /** `type` is "Queue" or "Reject". "Queue" means that requests that can not be executed upon arrival are held in a queue until they can be executed or a queuing limit is reached. "Reject" means that requests that can not be executed upon arrival are rejected. Required. */
  type: string
}

/** LimitedPriorityLevelConfiguration specifies how to handle requests that are subject to limits. It addresses two issues: - How are requests for this priority level limited? - What should be done with requests that exceed the limit? */
export interface LimitedPriorityLevelConfiguration {
  /** `borrowingLimitPercent`, if present, configures a limit on how many seats this priority level can borrow from other priority levels. The limit is known as this level's BorrowingConcurrencyLimit (BorrowingCL) and is a limit on the total number of seats that this level may borrow at any one time. */
  borrowingLimitPercent?: number
  /** `lendablePercent` prescribes the fraction of the level's NominalCL that can be borrowed by other priority levels. The value of this field must be between 0 and 100, inclusive, and it defaults to 0. */
  lendablePercent?: number
  /** `limitResponse` indicates what to do with requests that can not be executed right now */
  limitResponse?: LimitResponse
  /** `nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. */
  nominalConcurrencyShares?: number
}

/** NonResourcePolicyRule is a predicate that matches non-resource requests according to their verb and the target non-resource URL. */
export interface NonResourcePolicyRule {
  /** `nonResourceURLs` is a set of url prefixes that a user should have access to and may not be empty. */
  nonResourceURLs: string[]
  /** `verbs` is a list of matching verbs and may not be empty. "*" matches all verbs. If it is present, it must be the only entry. Required. */
  verbs: string[]
}

/** PolicyRulesWithSubjects prescribes a test that applies to a request to an apiserver. The test considers the subject making the request, the verb being requested, and the resource to be acted upon. */
export interface PolicyRulesWithSubjects {
  /** `nonResourceRules` is a list of NonResourcePolicyRules that identify matching requests according to their verb and the target non-resource URL. */
  nonResourceRules?: NonResourcePolicyRule[]
  /** `resourceRules` is a slice of ResourcePolicyRules that identify matching requests according to their verb and the target resource. At least one of `resourceRules` and `nonResourceRules` has to be non-empty. */
  resourceRules?: ResourcePolicyRule[]
  /** subjects is the list of normal user, serviceaccount, or group that this rule cares about. There must be at least one member in this slice. A slice that includes both the system:authenticated and system:unauthenticated user groups matches every request. Required. */
  subjects: Subject[]
}

/** PriorityLevelConfiguration represents the configuration of a priority level. */
export interface PriorityLevelConfiguration {
  /** The group and version. */
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1'
  /** The kind. */
  kind: 'PriorityLevelConfiguration'
  /** `metadata` is the standard object's metadata. */
  metadata: ObjectMeta
  /** `spec` is the specification of the desired behavior of a "request-priority". */
  spec: PriorityLevelConfigurationSpec
  /** `status` is the current status of a "request-priority". */
  status?: PriorityLevelConfigurationStatus
}
/** PriorityLevelConfiguration represents the configuration of a priority level. */
export const PriorityLevelConfiguration: BuiltinResource<PriorityLevelConfiguration, 'Cluster'> = /* @__PURE__ */ defineBuiltin('flowcontrol.apiserver.k8s.io', 'v1', 'PriorityLevelConfiguration', 'prioritylevelconfigurations', 'Cluster')

/** PriorityLevelConfigurationCondition defines the condition of priority level. */
export interface PriorityLevelConfigurationCondition {
  /** `lastTransitionTime` is the last time the condition transitioned from one status to another. */
  lastTransitionTime?: string
  /** `message` is a human-readable message indicating details about last transition. */
  message?: string
  /** `reason` is a unique, one-word, CamelCase reason for the condition's last transition. */
  reason?: string
  /** `status` is the status of the condition. Can be True, False, Unknown. Required. */
  status?: string
  /** `type` is the type of the condition. Required. */
  type?: string
}

/** PriorityLevelConfigurationReference contains information that points to the "request-priority" being used. */
export interface PriorityLevelConfigurationReference {
  /** `name` is the name of the priority level configuration being referenced Required. */
  name: string
}

/** PriorityLevelConfigurationSpec specifies the configuration of a priority level. */
export interface PriorityLevelConfigurationSpec {
  /** `exempt` specifies how requests are handled for an exempt priority level. This field MUST be empty if `type` is `"Limited"`. This field MAY be non-empty if `type` is `"Exempt"`. If empty and `type` is `"Exempt"` then the default values for `ExemptPriorityLevelConfiguration` apply. */
  exempt?: ExemptPriorityLevelConfiguration
  /** `limited` specifies how requests are handled for a Limited priority level. This field must be non-empty if and only if `type` is `"Limited"`. */
  limited?: LimitedPriorityLevelConfiguration
  /** `type` indicates whether this priority level is subject to limitation on request execution. A value of `"Exempt"` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels. */
  type: string
}

/** PriorityLevelConfigurationStatus represents the current state of a "request-priority". */
export interface PriorityLevelConfigurationStatus {
  /** `conditions` is the current state of "request-priority". */
  conditions?: PriorityLevelConfigurationCondition[]
}

/** QueuingConfiguration holds the configuration parameters for queuing */
export interface QueuingConfiguration {
  /** `handSize` is a small positive number that configures the shuffle sharding of requests into queues. */
  handSize?: number
  /** `queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected. This value must be positive. If not specified, it will be defaulted to 50. */
  queueLengthLimit?: number
  /** `queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive. Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant. */
  queues?: number
}

/** ResourcePolicyRule is a predicate that matches some resource requests, testing the request's verb and the target resource. */
export interface ResourcePolicyRule {
  /** `apiGroups` is a list of matching API groups and may not be empty. "*" matches all API groups and, if present, must be the only entry. Required. */
  apiGroups: string[]
  /** `clusterScope` indicates whether to match requests that do not specify a namespace (which happens either because the resource is not namespaced or the request targets all namespaces). If this field is omitted or false then the `namespaces` field must contain a non-empty list. */
  clusterScope?: boolean
  /** `namespaces` is a list of target namespaces that restricts matches. A request that specifies a target namespace matches only if either (a) this list contains that target namespace or (b) this list contains "*". */
  namespaces?: string[]
  /** `resources` is a list of matching resources (i.e., lowercase and plural) with, if desired, subresource. For example, [ "services", "nodes/status" ]. This list may not be empty. "*" matches all resources and, if present, must be the only entry. Required. */
  resources: string[]
  /** `verbs` is a list of matching verbs and may not be empty. "*" matches all verbs and, if present, must be the only entry. Required. */
  verbs: string[]
}

/** ServiceAccountSubject holds detailed information for service-account-kind subject. */
export interface ServiceAccountSubject {
  /** `name` is the name of matching ServiceAccount objects, or "*" to match regardless of name. Required. */
  name: string
  /** `namespace` is the namespace of matching ServiceAccount objects. Required. */
  namespace: string
}

/** Subject matches the originator of a request, as identified by the request authentication system. There are three ways of matching an originator; by user, group, or service account. */
export interface Subject {
  /** `group` matches based on user group name. */
  group?: GroupSubject
  /** `kind` indicates which one of the other fields is non-empty. Required */
  kind: string
  /** `serviceAccount` matches ServiceAccounts. */
  serviceAccount?: ServiceAccountSubject
  /** `user` matches based on username. */
  user?: UserSubject
}

/** UserSubject holds detailed information for user-kind subject. */
export interface UserSubject {
  /** `name` is the username that matches, or "*" to match all usernames. Required. */
  name: string
}
