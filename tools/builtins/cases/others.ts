/** Cases for RBAC, webhooks, networking, leases and other groups. */
import type { Case } from './case.ts'

const entry = (resource: string, name: string, body: object, more: Partial<Case> = {}): Case => ({
  name,
  resource,
  body: body as Case['body'],
  ...more,
})
const cluster = { clusterScoped: true }
const rbac = 'rbac.authorization.k8s.io/v1'
const admission = 'admissionregistration.k8s.io/v1'
const networking = 'networking.k8s.io/v1'
const roleRef = { kind: 'ClusterRole', name: 'view' }
const hook = {
  name: 'a.example.com',
  clientConfig: { service: { name: 's', namespace: 'n' } },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
}
const backend = { service: { name: 's', port: { number: 80 } } }
const ingress = { rules: [{ host: 'a.example.com', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] }
const regarding = { kind: 'Pod', name: 'a', namespace: '$namespace' }
const event = {
  eventTime: '2024-01-01T00:00:00.123456Z',
  regarding,
  reason: 'R',
  action: 'A',
  type: 'Normal',
  note: 'n',
  reportingController: 'example.com/c',
  reportingInstance: 'i',
}

export const otherCases: readonly Case[] = [
  entry(`${rbac}/roles`, 'a role', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] }),
  entry(`${rbac}/roles`, 'a role without rules', {}),
  entry(`${rbac}/roles`, 'a role with an empty list of rules', { rules: [] }),
  entry(`${rbac}/roles`, 'a role with bad rules', {
    rules: [{}, { verbs: ['get'], nonResourceURLs: ['/a'], apiGroups: ['a'] }],
  }),
  entry(
    `${rbac}/clusterroles`,
    'a cluster role',
    { rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }] },
    cluster,
  ),
  entry(
    `${rbac}/clusterroles`,
    'an aggregated cluster role',
    { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } },
    cluster,
  ),
  entry(`${rbac}/clusterroles`, 'an aggregation of nothing', { aggregationRule: {} }, cluster),
  entry(`${rbac}/rolebindings`, 'a role binding', {
    roleRef,
    subjects: [
      { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
      { kind: 'User', name: 'u' },
      { kind: 'Group', name: 'g' },
    ],
  }),
  entry(`${rbac}/rolebindings`, 'a role binding without anything', {}),
  entry(`${rbac}/rolebindings`, 'a role binding with bad subjects', {
    roleRef,
    subjects: [
      {},
      { kind: 'Other', name: 'a' },
      { kind: 'ServiceAccount', name: 'A', apiGroup: 'x' },
      { kind: 'User', name: 'u', apiGroup: 'x' },
    ],
  }),
  entry(`${rbac}/rolebindings`, 'another role of a binding', { roleRef }, { patch: { roleRef: { name: 'edit' } } }),
  entry(
    `${rbac}/clusterrolebindings`,
    'a cluster role binding',
    { roleRef, subjects: [{ kind: 'User', name: 'u' }] },
    cluster,
  ),
  entry(
    `${rbac}/clusterrolebindings`,
    'a cluster role binding to a role and an account without a namespace',
    { roleRef: { kind: 'Role', name: 'a/b' }, subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
    cluster,
  ),
  entry(`${admission}/validatingwebhookconfigurations`, 'a validating webhook', { webhooks: [hook] }, cluster),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a validating webhook at a URL',
    { webhooks: [{ ...hook, clientConfig: { url: 'https://example.com/a', caBundle: 'YQ==' } }] },
    cluster,
  ),
  entry(`${admission}/validatingwebhookconfigurations`, 'a webhook without anything', { webhooks: [{}] }, cluster),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook with a short name',
    { webhooks: [{ ...hook, name: 'a.b' }] },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'two webhooks of one name',
    { webhooks: [hook, hook] },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook with both clients',
    { webhooks: [{ ...hook, clientConfig: { ...hook.clientConfig, url: 'https://a' } }] },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook at bad URLs',
    { webhooks: [{ ...hook, clientConfig: { url: 'http://u@a?b#c' } }] },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook at an incomplete service',
    { webhooks: [{ ...hook, clientConfig: { service: { name: 's', path: 'a//B', port: 70000 } } }] },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook with bad values',
    {
      webhooks: [
        {
          ...hook,
          sideEffects: 'Some',
          timeoutSeconds: 31,
          failurePolicy: 'X',
          matchPolicy: 'Y',
          admissionReviewVersions: ['v2', 'v2', 'V'],
        },
      ],
    },
    cluster,
  ),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'a webhook with bad rules',
    {
      webhooks: [
        {
          ...hook,
          rules: [
            {},
            {
              operations: ['*', 'CREATE', 'X'],
              apiGroups: ['*', 'a'],
              apiVersions: ['*', ''],
              resources: ['*/*', 'a', ''],
              scope: 'X',
            },
            { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['a/*', 'a/b', '*', 'c'] },
          ],
        },
      ],
    },
    cluster,
  ),
  entry(`${admission}/validatingwebhookconfigurations`, 'a configuration without webhooks', {}, cluster),
  entry(
    `${admission}/validatingwebhookconfigurations`,
    'another webhook',
    { webhooks: [hook] },
    { ...cluster, patch: { webhooks: [{ ...hook, name: 'b.example.com' }] } },
  ),
  entry(`${admission}/mutatingwebhookconfigurations`, 'a mutating webhook', { webhooks: [hook] }, cluster),
  entry(
    `${admission}/mutatingwebhookconfigurations`,
    'a mutating webhook with a bad reinvocation policy',
    { webhooks: [{ ...hook, reinvocationPolicy: 'X' }] },
    cluster,
  ),
  entry(`${networking}/ingresses`, 'an ingress', { spec: ingress }),
  entry(`${networking}/ingresses`, 'an ingress with a default backend', {
    spec: { defaultBackend: backend, tls: [{ hosts: ['*.example.com'], secretName: 's' }] },
  }),
  entry(`${networking}/ingresses`, 'an ingress without anything', { spec: {} }),
  entry(`${networking}/ingresses`, 'an ingress with bad rules', {
    spec: {
      rules: [
        { host: '1.2.3.4', http: { paths: [] } },
        {
          host: 'a.*',
          http: {
            paths: [
              { backend },
              { path: 'a', pathType: 'Exact', backend: {} },
              { path: '/a//b', pathType: 'Prefix', backend: { service: { name: 'A', port: {} } } },
              { pathType: 'X', backend: { service: { port: { name: 'a', number: 1 } } } },
            ],
          },
        },
      ],
    },
  }),
  entry(
    `${networking}/ingresses`,
    'another class of an ingress',
    { spec: ingress },
    { patch: { spec: { ingressClassName: 'a' } } },
  ),
  entry(
    `${networking}/ingresses`,
    'a status of an ingress',
    { spec: ingress },
    { patch: { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }, status: true },
  ),
  entry(
    `${networking}/ingressclasses`,
    'an ingress class',
    { spec: { controller: 'example.com/c', parameters: { kind: 'K', name: 'n' } } },
    cluster,
  ),
  entry(`${networking}/ingressclasses`, 'an ingress class without a controller', { spec: {} }, cluster),
  entry(`${networking}/networkpolicies`, 'a network policy', {
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }], egress: [{}] },
  }),
  entry(`${networking}/networkpolicies`, 'a bad network policy', {
    spec: {
      podSelector: {},
      policyTypes: ['X'],
      ingress: [
        {
          from: [{}, { ipBlock: { cidr: '10.0.0.0/8' }, podSelector: {} }],
          ports: [{ port: 0, protocol: 'X' }, { endPort: 1 }, { port: 'http', endPort: 2 }],
        },
      ],
    },
  }),
  entry('coordination.k8s.io/v1/leases', 'a lease', {
    spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2024-01-01T01:00:00.000000+01:00' },
  }),
  entry('coordination.k8s.io/v1/leases', 'an empty lease', {}),
  entry('coordination.k8s.io/v1/leases', 'a lease with bad numbers', {
    spec: { leaseDurationSeconds: 0, leaseTransitions: -1 },
  }),
  entry(
    'coordination.k8s.io/v1/leases',
    'a renewed lease',
    { spec: {} },
    { patch: { spec: { holderIdentity: 'b', leaseTransitions: 1 } } },
  ),
  entry('events.k8s.io/v1/events', 'a new event', event),
  entry('events.k8s.io/v1/events', 'a new event without anything', {}),
  entry('events.k8s.io/v1/events', 'a new event with old fields', {
    ...event,
    deprecatedCount: 1,
    deprecatedSource: { component: 'c' },
    deprecatedFirstTimestamp: '2024-01-01T00:00:00Z',
    type: 'Odd',
  }),
  entry('events.k8s.io/v1/events', 'a series of a new event', event, {
    patch: { series: { count: 2, lastObservedTime: '2024-01-01T00:00:01.000000Z' } },
  }),
  entry('events.k8s.io/v1/events', 'another note of a new event', event, {
    patch: { note: 'other', reason: 'S', series: { count: 1 } },
  }),
  entry('storage.k8s.io/v1/storageclasses', 'a storage class', { provisioner: 'example.com/p' }, cluster),
  entry(
    'storage.k8s.io/v1/storageclasses',
    'a bad storage class',
    { reclaimPolicy: 'X', volumeBindingMode: 'Y' },
    cluster,
  ),
  entry(
    'storage.k8s.io/v1/storageclasses',
    'another provisioner',
    { provisioner: 'a' },
    { ...cluster, patch: { provisioner: 'b' } },
  ),
  entry('scheduling.k8s.io/v1/priorityclasses', 'a priority class', { value: 5 }, cluster),
  entry(
    'scheduling.k8s.io/v1/priorityclasses',
    'a priority class that is too high',
    { value: 1000000001, preemptionPolicy: 'X' },
    cluster,
  ),
  entry('scheduling.k8s.io/v1/priorityclasses', 'another priority', { value: 5 }, { ...cluster, patch: { value: 6 } }),
  entry('policy/v1/poddisruptionbudgets', 'a disruption budget', { spec: { minAvailable: 1, selector: {} } }),
  entry('policy/v1/poddisruptionbudgets', 'a bad disruption budget', {
    spec: { minAvailable: '101%', maxUnavailable: -1, unhealthyPodEvictionPolicy: 'X' },
  }),
  entry('autoscaling/v2/horizontalpodautoscalers', 'an autoscaler', {
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }, maxReplicas: 3 },
  }),
  entry('autoscaling/v2/horizontalpodautoscalers', 'an autoscaler with behaviour', {
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
      maxReplicas: 3,
      behavior: { scaleDown: { stabilizationWindowSeconds: 5 } },
    },
  }),
  entry('autoscaling/v2/horizontalpodautoscalers', 'an autoscaler without anything', { spec: {} }),
  entry('discovery.k8s.io/v1/endpointslices', 'an endpoint slice', {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.1.1'] }],
    ports: [{ port: 80 }],
  }),
  entry('discovery.k8s.io/v1/endpointslices', 'an endpoint slice without a type', { endpoints: [{}] }),
]
