/**
 * The built-in kinds of Kubernetes with their plurals, by scope. They give handlers the type of `namespace`: a string for Pods,
 * undefined for Nodes. Used for types only; a kind that is missing here gets `string | undefined`. Kinds of the core group
 * have no group in their key.
 */

export const namespacedKinds = {
  ConfigMap: 'configmaps',
  Endpoints: 'endpoints',
  Event: 'events',
  LimitRange: 'limitranges',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  Pod: 'pods',
  PodTemplate: 'podtemplates',
  ReplicationController: 'replicationcontrollers',
  ResourceQuota: 'resourcequotas',
  Secret: 'secrets',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
  'ControllerRevision.apps': 'controllerrevisions',
  'DaemonSet.apps': 'daemonsets',
  'Deployment.apps': 'deployments',
  'ReplicaSet.apps': 'replicasets',
  'StatefulSet.apps': 'statefulsets',
  'HorizontalPodAutoscaler.autoscaling': 'horizontalpodautoscalers',
  'CronJob.batch': 'cronjobs',
  'Job.batch': 'jobs',
  'Lease.coordination.k8s.io': 'leases',
  'EndpointSlice.discovery.k8s.io': 'endpointslices',
  'Event.events.k8s.io': 'events',
  'Ingress.networking.k8s.io': 'ingresses',
  'NetworkPolicy.networking.k8s.io': 'networkpolicies',
  'PodDisruptionBudget.policy': 'poddisruptionbudgets',
  'Role.rbac.authorization.k8s.io': 'roles',
  'RoleBinding.rbac.authorization.k8s.io': 'rolebindings',
  'ResourceClaim.resource.k8s.io': 'resourceclaims',
  'ResourceClaimTemplate.resource.k8s.io': 'resourceclaimtemplates',
  'CSIStorageCapacity.storage.k8s.io': 'csistoragecapacities',
} as const

export const clusterKinds = {
  Namespace: 'namespaces',
  Node: 'nodes',
  PersistentVolume: 'persistentvolumes',
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': 'mutatingadmissionpolicies',
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': 'mutatingadmissionpolicybindings',
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': 'mutatingwebhookconfigurations',
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': 'validatingadmissionpolicies',
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': 'validatingadmissionpolicybindings',
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': 'validatingwebhookconfigurations',
  'CustomResourceDefinition.apiextensions.k8s.io': 'customresourcedefinitions',
  'APIService.apiregistration.k8s.io': 'apiservices',
  'CertificateSigningRequest.certificates.k8s.io': 'certificatesigningrequests',
  'FlowSchema.flowcontrol.apiserver.k8s.io': 'flowschemas',
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io': 'prioritylevelconfigurations',
  'IngressClass.networking.k8s.io': 'ingressclasses',
  'IPAddress.networking.k8s.io': 'ipaddresses',
  'ServiceCIDR.networking.k8s.io': 'servicecidrs',
  'RuntimeClass.node.k8s.io': 'runtimeclasses',
  'ClusterRole.rbac.authorization.k8s.io': 'clusterroles',
  'ClusterRoleBinding.rbac.authorization.k8s.io': 'clusterrolebindings',
  'DeviceClass.resource.k8s.io': 'deviceclasses',
  'ResourceSlice.resource.k8s.io': 'resourceslices',
  'PriorityClass.scheduling.k8s.io': 'priorityclasses',
  'CSIDriver.storage.k8s.io': 'csidrivers',
  'CSINode.storage.k8s.io': 'csinodes',
  'StorageClass.storage.k8s.io': 'storageclasses',
  'VolumeAttachment.storage.k8s.io': 'volumeattachments',
  'VolumeAttributesClass.storage.k8s.io': 'volumeattributesclasses',
} as const

/** `pods`, `deployments.apps`. */
type NamesOf<Kinds> = {
  [K in keyof Kinds & string]: K extends `${string}.${infer Group}` ? `${Kinds[K] & string}.${Group}` : Kinds[K]
}[keyof Kinds & string]

type NamespacedName = NamesOf<typeof namespacedKinds>
type ClusterName = NamesOf<typeof clusterKinds>

/** A notation with literal names, as `plural` or `plural.group`. The version does not matter. */
type NameOf<R> = R extends string
  ? R
  : R extends readonly ['v1' | '', infer Name]
    ? Name
    : R extends readonly ['', 'v1', infer Name]
      ? Name
      : R extends readonly [`${infer Group}/${string}`, infer Name extends string]
        ? `${Name}.${Group}`
        : R extends readonly [infer Group extends string, infer Name extends string]
          ? `${Name}.${Group}`
          : R extends readonly [infer Group extends string, string, infer Name extends string]
            ? `${Name}.${Group}`
            : never

/** `Pod`, `Deployment.apps`: from types with literal `apiVersion` and `kind`, such as those of `kubernetes-types`. */
type KindOf<T> = T extends { readonly apiVersion?: infer Api; readonly kind?: infer Kind }
  ? NonNullable<Api> extends 'v1'
    ? NonNullable<Kind>
    : NonNullable<Api> extends `${infer Group}/${string}`
      ? `${NonNullable<Kind> & string}.${Group}`
      : never
  : never

/**
 * The type of `metadata.namespace` for a notation `R` or an object type `T`: from the built-in kinds, or from a type whose namespace is
 * required. `string | undefined` for unknown kinds.
 */
export type BuiltinNamespace<R, T> = ByName<NameOf<R>> extends infer N ? ([N] extends [never] ? ByType<T> : N) : never

type ByType<T> = T extends { readonly metadata: { readonly namespace: string } } ? string : ByKind<KindOf<T>>

type ByName<Name> = [Name] extends [never]
  ? never
  : [Name] extends [NamespacedName]
    ? string
    : [Name] extends [ClusterName]
      ? undefined
      : never

type ByKind<Kind> = [Kind] extends [never]
  ? string | undefined
  : [Kind] extends [keyof typeof namespacedKinds]
    ? string
    : [Kind] extends [keyof typeof clusterKinds]
      ? undefined
      : string | undefined
