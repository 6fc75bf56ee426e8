/** Cases for the kinds of the core group except pods. */
import { type Case, template } from './case.ts'

const entry = (resource: string, name: string, body: object, more: Partial<Case> = {}): Case => ({
  name,
  resource: `v1/${resource}`,
  body: body as Case['body'],
  ...more,
})
const cluster = { clusterScoped: true }
const http = [{ port: 80 }]
const bytes = (text: string): string => Buffer.from(text).toString('base64')
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } }

export const coreCases: readonly Case[] = [
  entry('configmaps', 'a config map', { data: { b: '1', a: '2' }, binaryData: { c: bytes('x') } }),
  entry('configmaps', 'an empty config map', {}),
  entry('configmaps', 'a config map with bad keys', { data: { 'a/b': '' } }),
  entry('configmaps', 'a config map with dots for a key', { data: { '..': '' } }),
  entry('configmaps', 'a config map with a key in both', { data: { a: '' }, binaryData: { a: '' } }),
  entry('configmaps', 'a config map with a number for a value', { data: { a: 1 } }),
  entry('configmaps', 'a config map that is too large', { data: { a: 'x'.repeat(1024 * 1024 + 1) } }),
  entry('configmaps', 'a config map with bad base64', { binaryData: { a: '*' } }),
  entry(
    'configmaps',
    'a change of an immutable config map',
    { immutable: true, data: { a: '1' } },
    { patch: { data: { a: '2' }, immutable: false } },
  ),
  entry('configmaps', 'a key more in a config map', { data: { a: '1' } }, { patch: { data: { b: '2' } } }),
  entry('secrets', 'a secret', { data: { a: bytes('1') }, stringData: { b: '2', a: '3' } }),
  entry('secrets', 'an empty secret', {}),
  entry('secrets', 'a TLS secret without keys', { type: 'kubernetes.io/tls' }),
  entry('secrets', 'a registry secret without its key', { type: 'kubernetes.io/dockerconfigjson' }),
  entry('secrets', 'a registry secret that is no JSON', {
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': 'x' },
  }),
  entry('secrets', 'an old registry secret without its key', { type: 'kubernetes.io/dockercfg' }),
  entry('secrets', 'a basic-auth secret without its keys', { type: 'kubernetes.io/basic-auth' }),
  entry('secrets', 'a basic-auth secret with one key', {
    type: 'kubernetes.io/basic-auth',
    stringData: { username: '' },
  }),
  entry('secrets', 'an ssh secret without its key', { type: 'kubernetes.io/ssh-auth' }),
  entry('secrets', 'a token secret without its account', { type: 'kubernetes.io/service-account-token' }),
  entry('secrets', 'a secret with bad base64', { data: { a: 'x' } }),
  entry('secrets', 'a secret with a bad key', { stringData: { 'a b': '' } }),
  entry('secrets', 'another type of secret', {}, { patch: { type: 'example.com/other' } }),
  entry(
    'secrets',
    'a change of an immutable secret',
    { immutable: true, data: { a: '' } },
    { patch: { stringData: { a: 'x' } } },
  ),
  entry('services', 'a service', { spec: { ports: http, selector: { app: 'web' } } }),
  entry('services', 'a headless service', { spec: { clusterIP: 'None', selector: { app: 'web' } } }),
  entry('services', 'a node-port service', {
    spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30123, targetPort: 'http' }] },
  }),
  entry('services', 'a load-balancer service', { spec: { type: 'LoadBalancer', ports: http } }),
  entry('services', 'an external-name service', { spec: { type: 'ExternalName', externalName: 'example.com' } }),
  entry('services', 'a sticky service', { spec: { sessionAffinity: 'ClientIP', ports: http } }),
  entry('services', 'a service without ports', { spec: {} }),
  entry('services', 'a service with bad ports', {
    spec: {
      ports: [
        { port: 0 },
        { port: 1, name: 'A', protocol: 'X' },
        { port: 2, name: 'b', targetPort: 'Not_A_Port' },
        { port: 3, name: 'b' },
      ],
    },
  }),
  entry('services', 'a service with a port twice', {
    spec: {
      ports: [
        { name: 'a', port: 1 },
        { name: 'b', port: 1 },
      ],
    },
  }),
  entry('services', 'a service of a bad type', { spec: { type: 'Other', ports: http } }),
  entry('services', 'an external-name service without a name', { spec: { type: 'ExternalName' } }),
  entry('services', 'a cluster-IP service with a node port', { spec: { ports: [{ port: 1, nodePort: 30000 }] } }),
  entry('services', 'a service with a bad selector and affinity', {
    spec: { ports: http, selector: { 'a b': '-' }, sessionAffinity: 'Some' },
  }),
  entry('services', 'a service with a bad cluster IP', { spec: { ports: http, clusterIP: 'x' } }),
  entry('services', 'a service with load-balancer fields', {
    spec: {
      ports: http,
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      allocateLoadBalancerNodePorts: true,
    },
  }),
  entry(
    'services',
    'another port of a service',
    { spec: { ports: http } },
    { patch: { spec: { ports: [{ port: 81 }] } } },
  ),
  entry(
    'services',
    'another cluster IP',
    { spec: { ports: http } },
    { patch: { spec: { clusterIP: '10.0.0.77', clusterIPs: ['10.0.0.77'] } } },
  ),
  entry(
    'services',
    'a status of a service',
    { spec: { type: 'LoadBalancer', ports: http } },
    { patch: { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } }, status: true },
  ),
  entry('serviceaccounts', 'a service account', { secrets: [{ name: 'a', kind: 'Secret' }] }),
  entry('endpoints', 'endpoints', { subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 80 }] }] }),
  entry('endpoints', 'endpoints without addresses', {
    subsets: [{ ports: [{ port: 0 }, { port: 1, protocol: 'X' }] }],
  }),
  entry('endpoints', 'endpoints with bad addresses', { subsets: [{ addresses: [{ ip: 'x' }, { ip: '127.0.0.1' }] }] }),
  entry('persistentvolumeclaims', 'a claim', { spec: claim }),
  entry('persistentvolumeclaims', 'a claim without anything', { spec: {} }),
  entry('persistentvolumeclaims', 'a claim with bad values', {
    spec: {
      accessModes: ['Read'],
      volumeMode: 'Disk',
      storageClassName: 'A',
      resources: { requests: { storage: '0' } },
    },
  }),
  entry('persistentvolumeclaims', 'a claim with two exclusive modes', {
    spec: { ...claim, accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] },
  }),
  entry(
    'persistentvolumeclaims',
    'another volume of a claim',
    { spec: { ...claim, volumeName: 'a' } },
    { patch: { metadata: { labels: { a: 'b' } } } },
  ),
  entry(
    'persistentvolumeclaims',
    'a status of a claim',
    { spec: claim },
    { patch: { status: { phase: 'Bound', capacity: { storage: '1Gi' } } }, status: true },
  ),
  entry('persistentvolumes', 'a volume', { spec: volume }, cluster),
  entry('persistentvolumes', 'a volume without anything', { spec: {} }, cluster),
  entry(
    'persistentvolumes',
    'a volume of two types',
    { spec: { ...volume, nfs: { server: 'a', path: '/' } } },
    cluster,
  ),
  entry(
    'persistentvolumes',
    'a status of a volume',
    { spec: volume },
    { ...cluster, patch: { status: { phase: 'Available' } }, status: true },
  ),
  entry(
    'nodes',
    'a node',
    {
      spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], podCIDR: '10.1.0.0/24' },
      status: { capacity: { cpu: '4' } },
    },
    cluster,
  ),
  entry('nodes', 'an empty node', {}, cluster),
  entry(
    'nodes',
    'a node with bad taints',
    {
      spec: {
        taints: [
          { key: 'a b', value: '-', effect: 'X' },
          { key: 'a', effect: 'NoExecute' },
          { key: 'a', effect: 'NoExecute' },
        ],
      },
    },
    cluster,
  ),
  entry('nodes', 'an unschedulable node', {}, { ...cluster, patch: { spec: { unschedulable: true } } }),
  entry(
    'nodes',
    'another provider of a node',
    { spec: { providerID: 'a' } },
    { ...cluster, patch: { spec: { providerID: 'b' } } },
  ),
  entry(
    'nodes',
    'a status of a node',
    {},
    { ...cluster, patch: { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, status: true },
  ),
  entry('namespaces', 'a namespace', { metadata: { labels: { a: 'b' } } }, cluster),
  entry(
    'namespaces',
    'a namespace with finalizers of its own',
    { spec: { finalizers: ['example.com/a'] }, status: { phase: 'Terminating' } },
    cluster,
  ),
  entry('namespaces', 'a namespace with a bad finalizer', { spec: { finalizers: ['a'] } }, cluster),
  entry(
    'namespaces',
    'another phase of a namespace',
    {},
    { ...cluster, patch: { status: { phase: 'Terminating' } }, status: true },
  ),
  entry(
    'namespaces',
    'a label of a namespace',
    {},
    {
      ...cluster,
      patch: { metadata: { labels: { a: 'b', 'kubernetes.io/metadata.name': null } }, spec: { finalizers: [] } },
    },
  ),
  entry('events', 'an event', {
    involvedObject: { kind: 'Pod', name: 'a', namespace: '$namespace' },
    reason: 'R',
    message: 'm',
    type: 'Normal',
    source: { component: 'c' },
    firstTimestamp: '2024-01-01T00:00:00Z',
  }),
  entry('events', 'an event about another namespace', {
    involvedObject: { kind: 'Pod', name: 'a', namespace: 'other' },
  }),
  entry('events', 'an event about no namespace', { involvedObject: { kind: 'Node', name: 'a' } }),
  entry('events', 'a new event without its fields', {
    eventTime: '2024-01-01T00:00:00.000000Z',
    involvedObject: { namespace: '$namespace' },
  }),
  entry('events', 'an event at a bad time', { eventTime: '2024-01-01T00:00:00Z' }),
  entry('events', 'an event at no time', { firstTimestamp: 'yesterday' }),
  entry('events', 'an event at a number', { firstTimestamp: 1 }),
  entry('limitranges', 'a limit range', {
    spec: { limits: [{ type: 'Container', max: { cpu: '2' }, default: { cpu: '1' } }] },
  }),
  entry('resourcequotas', 'a quota', {
    spec: { hard: { pods: '10', 'requests.cpu': '1000m' } },
    status: { used: { pods: '1' } },
  }),
  entry('podtemplates', 'a pod template', { template: template() }),
  entry('replicationcontrollers', 'a replication controller', { spec: { template: template() } }),
  entry('replicationcontrollers', 'a replication controller without anything', { spec: {} }),
]
