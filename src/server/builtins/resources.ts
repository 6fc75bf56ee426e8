/**
 * The built-in kinds of this server: their names in discovery, and their rules. Building the list is cheap; the types of a kind
 * are parsed at its first use.
 */
import { formatGroupVersion, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import { type FieldSet, toFieldSet } from '../ownership/field-set.ts'
import { createOwnership } from '../ownership/ownership.ts'
import type { ApiResource, ScalePaths, Subresource } from '../resource.ts'
import { builtinColumns } from '../tables/builtin-columns.ts'
import { encodeStruct } from './encode.ts'
import {
  endpointsRules,
  limitRangeRules,
  namespaceRules,
  nodeRules,
  resourceQuotaRules,
  serviceAccountRules,
} from './kinds/cluster.ts'
import { configMapRules, secretRules } from './kinds/config.ts'
import { cronJobRules } from './kinds/cron-jobs.ts'
import { controllerRevisionRules, daemonSetRules } from './kinds/daemon-sets.ts'
import { deploymentRules, replicaSetRules, replicationControllerRules } from './kinds/deployments.ts'
import { endpointSliceRules } from './kinds/endpoint-slices.ts'
import { coreEventRules, eventConversion, eventRules } from './kinds/events.ts'
import { ingressClassRules, ingressRules } from './kinds/ingresses.ts'
import { jobRules } from './kinds/jobs.ts'
import { networkPolicyRules } from './kinds/network-policies.ts'
import { podRules, podTemplateRules } from './kinds/pods.ts'
import { autoscalerRules, disruptionBudgetRules, leaseRules, priorityClassRules } from './kinds/policies.ts'
import { clusterRoleBindingRules, clusterRoleRules, roleBindingRules, roleRules } from './kinds/rbac.ts'
import { createServiceRules } from './kinds/services.ts'
import { statefulSetRules } from './kinds/stateful-sets.ts'
import { claimRules, createVolumeRules, storageClassRules } from './kinds/storage.ts'
import { webhookConfigurationRules } from './kinds/webhooks.ts'
import { createStrategy, type KindRules } from './strategy.ts'
import { builtinFieldTypes, Types } from './types.ts'

interface KindEntry {
  readonly kind: string
  readonly rules: KindRules
  /** Default: the kind in lower case. */
  readonly singular?: string
  /** Default: the singular with an `s`. */
  readonly plural?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly clusterScoped?: boolean
  readonly hasStatus?: boolean
  readonly hasScale?: boolean
  readonly hasFinalize?: boolean
  readonly hasToken?: boolean
  readonly verbs?: readonly string[]
  readonly warning?: string
  readonly more?: Pick<ApiResource, 'collection' | 'conversion'>
}

interface GroupEntry {
  readonly group: string
  readonly version: string
  /** Package of the Go types. */
  readonly types: string
  readonly entries: readonly KindEntry[]
}

/** Alphabetical, like the real server's discovery. */
const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const subresourceVerbs = ['get', 'patch', 'update']
const all = ['all']
const clusterScoped = true
const hasStatus = true
const hasScale = true

/** `now` supplies the timestamps that the rules themselves write. */
export function builtinResources(now: () => Date): ApiResource[] {
  const types = new Types()
  const timestamp = (): string => `${now().toISOString().slice(0, 19)}Z`
  return groups(timestamp).flatMap((group) => group.entries.map((entry) => serve(types, group, entry)))
}

function serve(types: Types, { group, version, types: prefix }: GroupEntry, entry: KindEntry): ApiResource {
  const { kind, rules } = entry
  const singular = entry.singular ?? kind.toLowerCase()
  const plural = entry.plural ?? `${singular}s`
  const type = `${prefix}.${kind}`
  const apiVersion = formatGroupVersion(group, version)
  let blank: KubeObject | undefined
  return {
    group,
    version,
    plural,
    singular,
    kind,
    listKind: `${kind}List`,
    shortNames: entry.shortNames ?? [],
    categories: entry.categories ?? [],
    namespaced: !entry.clusterScoped,
    verbs: entry.verbs ?? allVerbs,
    subresources: subresourcesOf(entry, group, version),
    ...(entry.hasScale && { scale: scalePaths }),
    collection: group === '' ? plural : `${group}/${plural}`,
    omitsTypeInLists: true,
    ...entry.more,
    strategy: createStrategy(types, type, kind, rules),
    fields: {
      ownership: createOwnership({
        apiVersion,
        type: () => builtinFieldTypes.named(type),
        resets: (subresource) => (entry.hasStatus ? resetFields(kind, subresource) : undefined),
      }),
      get blank(): KubeObject {
        blank ??= { ...encodeStruct(types, type, {}), apiVersion, kind } as KubeObject
        return blank
      },
    },
    columns: builtinColumns(group, plural),
    ...(entry.warning !== undefined && { warning: entry.warning }),
    get openapi(): JsonObject {
      return types.definitions[type]!
    },
  }
}

const specFields = toFieldSet(['f:spec'])
const statusFields = toFieldSet(['f:status'])

/** Fields that a status update resets in addition to `spec`, for kinds that declare them in the real server. */
const moreStatusResets: Readonly<Record<string, FieldSet>> = {
  Deployment: toFieldSet(['f:spec'], ['f:metadata', 'f:labels']),
  Pod: toFieldSet(['f:spec'], ['f:metadata', 'f:deletionTimestamp'], ['f:metadata', 'f:ownerReferences']),
}

function resetFields(kind: string, subresource: string): FieldSet {
  return subresource === 'status' ? (moreStatusResets[kind] ?? specFields) : statusFields
}

function subresourcesOf({ kind, ...entry }: KindEntry, group: string, version: string): Subresource[] {
  const scale = { name: 'scale', kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: subresourceVerbs }
  const status = { name: 'status', kind, group, version, verbs: subresourceVerbs }
  const token = {
    name: 'token',
    kind: 'TokenRequest',
    group: 'authentication.k8s.io',
    version: 'v1',
    verbs: ['create'],
  }
  const finalize = { name: 'finalize', kind, group, version, verbs: ['update'] }
  return [
    ...(entry.hasFinalize ? [finalize] : []),
    ...(entry.hasScale ? [scale] : []),
    ...(entry.hasStatus ? [status] : []),
    ...(entry.hasToken ? [token] : []),
  ]
}

/**
 * Unlike in custom resources, the selector is not a string but a LabelSelector, or a map of labels in a ReplicationController.
 */
const scalePaths: ScalePaths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
}

function groups(timestamp: () => string): readonly GroupEntry[] {
  return [core(timestamp), apps, batch, ...smallGroups]
}

const endpointsWarning = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'

function core(timestamp: () => string): GroupEntry {
  return {
    group: '',
    version: 'v1',
    types: 'core.v1',
    entries: [
      { kind: 'ConfigMap', shortNames: ['cm'], rules: configMapRules },
      { kind: 'Endpoints', plural: 'endpoints', shortNames: ['ep'], rules: endpointsRules, warning: endpointsWarning },
      { kind: 'Event', shortNames: ['ev'], rules: coreEventRules },
      { kind: 'LimitRange', shortNames: ['limits'], rules: limitRangeRules },
      {
        kind: 'Namespace',
        shortNames: ['ns'],
        clusterScoped,
        hasStatus,
        hasFinalize: true,
        rules: namespaceRules,
        verbs: allVerbs.filter((verb) => verb !== 'deletecollection'),
      },
      { kind: 'Node', shortNames: ['no'], clusterScoped, hasStatus, rules: nodeRules },
      { kind: 'PersistentVolumeClaim', shortNames: ['pvc'], hasStatus, rules: claimRules },
      { kind: 'PersistentVolume', shortNames: ['pv'], clusterScoped, hasStatus, rules: createVolumeRules(timestamp) },
      { kind: 'Pod', shortNames: ['po'], categories: all, hasStatus, rules: podRules },
      { kind: 'PodTemplate', rules: podTemplateRules },
      {
        kind: 'ReplicationController',
        shortNames: ['rc'],
        categories: all,
        hasStatus,
        hasScale,
        rules: replicationControllerRules,
      },
      { kind: 'ResourceQuota', shortNames: ['quota'], hasStatus, rules: resourceQuotaRules },
      { kind: 'Secret', rules: secretRules },
      { kind: 'ServiceAccount', shortNames: ['sa'], hasToken: true, rules: serviceAccountRules },
      { kind: 'Service', shortNames: ['svc'], categories: all, hasStatus, rules: createServiceRules() },
    ],
  }
}

const apps: GroupEntry = {
  group: 'apps',
  version: 'v1',
  types: 'apps.v1',
  entries: [
    { kind: 'ControllerRevision', rules: controllerRevisionRules },
    { kind: 'DaemonSet', shortNames: ['ds'], categories: all, hasStatus, rules: daemonSetRules },
    { kind: 'Deployment', shortNames: ['deploy'], categories: all, hasStatus, hasScale, rules: deploymentRules },
    { kind: 'ReplicaSet', shortNames: ['rs'], categories: all, hasStatus, hasScale, rules: replicaSetRules },
    { kind: 'StatefulSet', shortNames: ['sts'], categories: all, hasStatus, hasScale, rules: statefulSetRules },
  ],
}

const batch: GroupEntry = {
  group: 'batch',
  version: 'v1',
  types: 'batch.v1',
  entries: [
    { kind: 'CronJob', shortNames: ['cj'], categories: all, hasStatus, rules: cronJobRules },
    { kind: 'Job', categories: all, hasStatus, rules: jobRules },
  ],
}

const extensions = ['api-extensions']

const smallGroups: readonly GroupEntry[] = [
  {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    types: 'admissionregistration.v1',
    entries: [
      { kind: 'MutatingWebhookConfiguration', categories: extensions, clusterScoped, rules: webhookConfigurationRules },
      {
        kind: 'ValidatingWebhookConfiguration',
        categories: extensions,
        clusterScoped,
        rules: webhookConfigurationRules,
      },
    ],
  },
  {
    group: 'autoscaling',
    version: 'v2',
    types: 'autoscaling.v2',
    entries: [
      { kind: 'HorizontalPodAutoscaler', shortNames: ['hpa'], categories: all, hasStatus, rules: autoscalerRules },
    ],
  },
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    types: 'coordination.v1',
    entries: [{ kind: 'Lease', rules: leaseRules }],
  },
  {
    group: 'discovery.k8s.io',
    version: 'v1',
    types: 'discovery.v1',
    entries: [{ kind: 'EndpointSlice', rules: endpointSliceRules }],
  },
  {
    group: 'events.k8s.io',
    version: 'v1',
    types: 'events.v1',
    // The events of the core group, with newer field names.
    entries: [
      {
        kind: 'Event',
        shortNames: ['ev'],
        rules: eventRules,
        more: { collection: 'events', conversion: eventConversion },
      },
    ],
  },
  {
    group: 'networking.k8s.io',
    version: 'v1',
    types: 'networking.v1',
    entries: [
      { kind: 'IngressClass', plural: 'ingressclasses', clusterScoped, rules: ingressClassRules },
      { kind: 'Ingress', plural: 'ingresses', shortNames: ['ing'], hasStatus, rules: ingressRules },
      { kind: 'NetworkPolicy', plural: 'networkpolicies', shortNames: ['netpol'], rules: networkPolicyRules },
    ],
  },
  {
    group: 'policy',
    version: 'v1',
    types: 'policy.v1',
    entries: [{ kind: 'PodDisruptionBudget', shortNames: ['pdb'], hasStatus, rules: disruptionBudgetRules }],
  },
  {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    types: 'rbac.v1',
    entries: [
      { kind: 'ClusterRoleBinding', clusterScoped, rules: clusterRoleBindingRules },
      { kind: 'ClusterRole', clusterScoped, rules: clusterRoleRules },
      { kind: 'RoleBinding', rules: roleBindingRules },
      { kind: 'Role', rules: roleRules },
    ],
  },
  {
    group: 'scheduling.k8s.io',
    version: 'v1',
    types: 'scheduling.v1',
    entries: [
      {
        kind: 'PriorityClass',
        plural: 'priorityclasses',
        shortNames: ['pc'],
        clusterScoped,
        rules: priorityClassRules,
      },
    ],
  },
  {
    group: 'storage.k8s.io',
    version: 'v1',
    types: 'storage.v1',
    entries: [
      { kind: 'StorageClass', plural: 'storageclasses', shortNames: ['sc'], clusterScoped, rules: storageClassRules },
    ],
  },
]
