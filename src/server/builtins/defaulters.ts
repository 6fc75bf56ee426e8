/** Defaults of all built-in types by type name, equal to the real server's `SetDefaults_*` functions and conversions. */
import { setOwn } from '../../util/json/json.ts'
import type { Defaulters } from './defaulting.ts'
import { fill, fillAbsent, list, podDefaulters } from './pod-defaults.ts'
import { isFields, type ObjectFields } from './values.ts'

function child(value: ObjectFields, name: string): ObjectFields {
  value[name] ??= {}
  return value[name] as ObjectFields
}

function service(value: ObjectFields): void {
  const spec = child(value, 'spec')
  fill(spec, { sessionAffinity: 'None', type: 'ClusterIP' })
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig']
  if (spec['sessionAffinity'] === 'ClientIP') {
    const config = child(spec, 'sessionAffinityConfig')
    fillAbsent(child(config, 'clientIP'), { timeoutSeconds: 10_800 })
  }
  for (const port of list(spec['ports'])) fill(port, { protocol: 'TCP', targetPort: port['port'] ?? 0 })
  serviceTraffic(spec)
  if (spec['type'] !== 'LoadBalancer') return
  fillAbsent(spec, { allocateLoadBalancerNodePorts: true })
  const balancer = child(child(value, 'status'), 'loadBalancer')
  for (const ingress of list(balancer['ingress'])) if (ingress['ip']) fillAbsent(ingress, { ipMode: 'VIP' })
}

function serviceTraffic(spec: ObjectFields): void {
  const isExternal = spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer'
  const hasExternalIps = spec['type'] === 'ClusterIP' && list(spec['externalIPs']).length > 0
  if (isExternal || hasExternalIps) fill(spec, { externalTrafficPolicy: 'Cluster' })
  if (isExternal || spec['type'] === 'ClusterIP') fillAbsent(spec, { internalTrafficPolicy: 'Cluster' })
}

/** `stringData` overwrites `data` and is not stored. */
function secret(value: ObjectFields): void {
  fill(value, { type: 'Opaque' })
  const texts = value['stringData']
  delete value['stringData']
  if (!isFields(texts)) return
  const data = child(value, 'data')
  for (const key of Object.keys(texts)) setOwn(data, key, Buffer.from(texts[key] as string).toString('base64'))
}

function namespace(value: ObjectFields): void {
  const metadata = child(value, 'metadata')
  if (metadata['name']) setOwn(child(metadata, 'labels'), 'kubernetes.io/metadata.name', metadata['name'])
}

function limitRangeItem(value: ObjectFields): void {
  if (value['type'] !== 'Container') return
  const [max, min] = [value['max'], value['min']].map((amounts) => (isFields(amounts) ? amounts : {}))
  value['default'] = { ...max, ...(value['default'] as ObjectFields | undefined) }
  value['defaultRequest'] = {
    ...min,
    ...(value['default'] as ObjectFields),
    ...(value['defaultRequest'] as ObjectFields | undefined),
  }
}

function replicationController(value: ObjectFields): void {
  const spec = child(value, 'spec')
  const template = spec['template'] as { metadata?: { labels?: ObjectFields } } | undefined
  const labels = template?.metadata?.labels
  if (!labels) return
  if (Object.keys((spec['selector'] as ObjectFields | undefined) ?? {}).length === 0) spec['selector'] = { ...labels }
  const metadata = child(value, 'metadata')
  if (Object.keys((metadata['labels'] as ObjectFields | undefined) ?? {}).length === 0)
    metadata['labels'] = { ...labels }
}

function deployment(value: ObjectFields): void {
  const spec = child(value, 'spec')
  fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })
  const strategy = child(spec, 'strategy')
  fill(strategy, { type: 'RollingUpdate' })
  if (strategy['type'] === 'RollingUpdate') {
    fillAbsent(child(strategy, 'rollingUpdate'), { maxUnavailable: '25%', maxSurge: '25%' })
  }
}

function daemonSet(value: ObjectFields): void {
  const spec = child(value, 'spec')
  fillAbsent(spec, { revisionHistoryLimit: 10 })
  const strategy = child(spec, 'updateStrategy')
  fill(strategy, { type: 'RollingUpdate' })
  if (strategy['type'] === 'RollingUpdate') {
    fillAbsent(child(strategy, 'rollingUpdate'), { maxUnavailable: 1, maxSurge: 0 })
  }
}

function statefulSet(value: ObjectFields): void {
  const spec = child(value, 'spec')
  fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10 })
  fill(spec, { podManagementPolicy: 'OrderedReady' })
  const strategy = child(spec, 'updateStrategy')
  if (!strategy['type'])
    Object.assign(strategy, { type: 'RollingUpdate', rollingUpdate: strategy['rollingUpdate'] ?? {} })
  if (strategy['type'] === 'RollingUpdate' && isFields(strategy['rollingUpdate'])) {
    fillAbsent(strategy['rollingUpdate'], { partition: 0 })
  }
  fill(child(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' })
  for (const claim of list(spec['volumeClaimTemplates']))
    fill(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
}

function job(value: ObjectFields): void {
  const spec = child(value, 'spec')
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) spec['completions'] = 1
  fillAbsent(spec, {
    parallelism: 1,
    backoffLimit: spec['backoffLimitPerIndex'] === undefined ? 6 : 2 ** 31 - 1,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    manualSelector: false,
  })
  const labels = (spec['template'] as { metadata?: { labels?: ObjectFields } } | undefined)?.metadata?.labels
  const metadata = child(value, 'metadata')
  if (labels && Object.keys((metadata['labels'] as ObjectFields | undefined) ?? {}).length === 0)
    metadata['labels'] = { ...labels }
}

function webhook(value: ObjectFields): void {
  fillAbsent(value, {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  })
}

function binding(value: ObjectFields): void {
  fill(child(value, 'roleRef'), { apiGroup: 'rbac.authorization.k8s.io' })
}

function networkPolicy(value: ObjectFields): void {
  const spec = child(value, 'spec')
  if (list(spec['policyTypes']).length > 0) return
  spec['policyTypes'] = list(spec['egress']).length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
}

const scaleUp = {
  selectPolicy: 'Max',
  stabilizationWindowSeconds: 0,
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}
const scaleDown = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] }

function autoscaler(value: ObjectFields): void {
  const spec = child(value, 'spec')
  fillAbsent(spec, { minReplicas: 1 })
  const cpu = { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } }
  if (list(spec['metrics']).length === 0) spec['metrics'] = [{ type: 'Resource', resource: cpu }]
  if (!isFields(spec['behavior'])) return
  fillAbsent(child(spec['behavior'], 'scaleUp'), structuredClone(scaleUp))
  fillAbsent(child(spec['behavior'], 'scaleDown'), structuredClone(scaleDown))
}

/** `podCIDR` and the first entry of `podCIDRs` are the same value. */
function nodeSpec(value: ObjectFields): void {
  const ranges = value['podCIDRs'] as string[] | undefined
  if (value['podCIDR'] && value['podCIDR'] !== ranges?.[0]) value['podCIDRs'] = [value['podCIDR']]
  else if (ranges?.[0]) value['podCIDR'] = ranges[0]
}

export const defaulters: Defaulters = {
  ...podDefaulters,
  'core.v1.Service': service,
  'core.v1.Secret': secret,
  'core.v1.Namespace': namespace,
  'core.v1.NamespaceStatus': (value) => fill(value, { phase: 'Active' }),
  'core.v1.NodeSpec': nodeSpec,
  'core.v1.NodeStatus'(value) {
    if (isFields(value['capacity'])) fillAbsent(value, { allocatable: { ...value['capacity'] } })
  },
  'core.v1.PersistentVolume'(value) {
    fill(child(value, 'spec'), { persistentVolumeReclaimPolicy: 'Retain' })
    fillAbsent(child(value, 'spec'), { volumeMode: 'Filesystem' })
    fill(child(value, 'status'), { phase: 'Pending' })
  },
  'core.v1.PersistentVolumeClaim': (value) => fill(child(value, 'status'), { phase: 'Pending' }),
  'core.v1.PersistentVolumeClaimSpec': (value) => fillAbsent(value, { volumeMode: 'Filesystem' }),
  'core.v1.EndpointPort': (value) => fill(value, { protocol: 'TCP' }),
  'core.v1.LimitRangeItem': limitRangeItem,
  'core.v1.ReplicationController': replicationController,
  'apps.v1.Deployment': deployment,
  'apps.v1.DaemonSet': daemonSet,
  'apps.v1.StatefulSet': statefulSet,
  'apps.v1.ReplicaSet': (value) => fillAbsent(child(value, 'spec'), { replicas: 1 }),
  'batch.v1.Job': job,
  'batch.v1.CronJob'(value) {
    fill(child(value, 'spec'), { concurrencyPolicy: 'Allow' })
    fillAbsent(child(value, 'spec'), { suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 })
  },
  'batch.v1.PodFailurePolicyOnPodConditionsPattern': (value) => fill(value, { status: 'True' }),
  'rbac.v1.RoleBinding': binding,
  'rbac.v1.ClusterRoleBinding': binding,
  'rbac.v1.Subject'(value) {
    if (value['kind'] === 'User' || value['kind'] === 'Group') fill(value, { apiGroup: 'rbac.authorization.k8s.io' })
  },
  'admissionregistration.v1.ValidatingWebhook': webhook,
  'admissionregistration.v1.MutatingWebhook'(value) {
    webhook(value)
    fillAbsent(value, { reinvocationPolicy: 'Never' })
  },
  'admissionregistration.v1.RuleWithOperations': (value) => fillAbsent(value, { scope: '*' }),
  'admissionregistration.v1.ServiceReference': (value) => fillAbsent(value, { port: 443 }),
  'networking.v1.NetworkPolicy': networkPolicy,
  'networking.v1.NetworkPolicyPort': (value) => fillAbsent(value, { protocol: 'TCP' }),
  'networking.v1.IngressClassParametersReference': (value) => fillAbsent(value, { scope: 'Cluster' }),
  'storage.v1.StorageClass': (value) => fillAbsent(value, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),
  'scheduling.v1.PriorityClass': (value) => fillAbsent(value, { preemptionPolicy: 'PreemptLowerPriority' }),
  'autoscaling.v2.HorizontalPodAutoscaler': autoscaler,
  'discovery.v1.EndpointPort': (value) => fillAbsent(value, { name: '', protocol: 'TCP' }),
}
