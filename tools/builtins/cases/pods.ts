/** Cases for pods: valid manifests, and common mistakes. */
import type { Case } from './case.ts'

const containers = [{ name: 'main', image: 'nginx:1.27' }]
const pod = (name: string, spec: object, more: Partial<Case> = {}): Case => ({
  name,
  resource: 'v1/pods',
  // By default the real server adds a token volume with a random name.
  body: { spec: { automountServiceAccountToken: false, ...spec } },
  ...more,
})
const one = (container: object, spec: object = {}): object => ({
  containers: [{ ...containers[0], ...container }],
  ...spec,
})

export const podCases: readonly Case[] = [
  pod('a pod with one container', { containers }),
  pod('a pod with an image without a tag', one({ image: 'nginx' })),
  pod('a pod with an image by digest', one({ image: `nginx@sha256:${'0'.repeat(64)}` })),
  pod(
    'a pod with everything common',
    one(
      {
        ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP', name: 'dns' }],
        env: [
          { name: 'A', value: 'b' },
          { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'C', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
          { name: 'D', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
        ],
        envFrom: [{ configMapRef: { name: 'c' } }],
        resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: 0.1 } },
        livenessProbe: { httpGet: { port: 80 } },
        readinessProbe: { exec: { command: ['true'] }, periodSeconds: 5 },
        startupProbe: { tcpSocket: { port: 'http' } },
        lifecycle: { preStop: { exec: { command: ['sleep', '1'] } } },
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'] } },
        command: ['sh'],
        args: [],
      },
      {
        initContainers: [{ name: 'init', image: 'busybox' }],
        volumes: [
          { name: 'data' },
          { name: 'config', configMap: { name: 'c' } },
          { name: 'secret', secret: { secretName: 's', items: [{ key: 'a', path: 'b' }] } },
          { name: 'host', hostPath: { path: '/' } },
          { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
          { name: 'info', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
        ],
        serviceAccountName: 'default',
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { a: 'b' } } },
            ],
          },
        },
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { a: 'b' } },
          },
        ],
        imagePullSecrets: [{ name: 'pull' }],
      },
    ),
  ),
  pod('a pod on the host network', one({ ports: [{ containerPort: 80 }] }, { hostNetwork: true })),
  pod('a pod with guaranteed resources', one({ resources: { limits: { cpu: '1', memory: '1Gi' } } })),
  pod('a pod assigned to a node', { containers, nodeName: 'node-1' }),
  pod(
    'a pod with a status of its own',
    { containers },
    { body: { spec: { containers, automountServiceAccountToken: false }, status: { phase: 'Running' } } },
  ),
  pod('a pod with scheduling gates', { containers, schedulingGates: [{ name: 'example.com/wait' }] }),
  pod('a pod without containers', {}),
  pod('a pod without a spec', {}, { body: {} }),
  pod('a pod with an unknown field', { containers, colour: 'red' }),
  pod('a container without name and image', { containers: [{}] }),
  pod('two containers of one name', { containers: [...containers, ...containers] }),
  pod('a container with a bad name', one({ name: 'Main_1' })),
  pod('a container with a dotted name', one({ name: 'a.b' })),
  pod('an image with spaces around it', one({ image: ' nginx ' })),
  pod('a bad restart policy', { containers, restartPolicy: 'Sometimes' }),
  pod('a bad DNS policy', { containers, dnsPolicy: 'Best' }),
  pod('a bad pull policy', one({ imagePullPolicy: 'Perhaps' })),
  pod('a mount of a volume that is not there', one({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })),
  pod(
    'two mounts on one path',
    one(
      {
        volumeMounts: [
          { name: 'a', mountPath: '/a' },
          { name: 'a', mountPath: '/a' },
        ],
      },
      { volumes: [{ name: 'a' }] },
    ),
  ),
  pod('two volumes of one name', { containers, volumes: [{ name: 'a' }, { name: 'a' }] }),
  pod('a volume of two types', { containers, volumes: [{ name: 'a', emptyDir: {}, secret: { secretName: 's' } }] }),
  pod('a volume without a name', { containers, volumes: [{ emptyDir: {} }] }),
  pod('a secret volume without a secret', { containers, volumes: [{ name: 'a', secret: {} }] }),
  pod(
    'ports out of range',
    one({ ports: [{ containerPort: 70000 }, {}, { containerPort: 1, protocol: 'ICMP', name: 'Not_A_Port' }] }),
  ),
  pod(
    'two ports of one name',
    one({
      ports: [
        { containerPort: 1, name: 'a' },
        { containerPort: 2, name: 'a' },
      ],
    }),
  ),
  pod(
    'environment variables without a name or a source',
    one({
      env: [
        { value: 'x' },
        { name: 'A=B' },
        { name: 'C', valueFrom: {} },
        { name: 'D', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
    }),
  ),
  pod(
    'an unknown field reference',
    one({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.colour' } } }] }),
  ),
  pod('environment from nowhere', one({ envFrom: [{}] })),
  pod('requests above the limits', one({ resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } })),
  pod('a negative amount', one({ resources: { requests: { memory: '-1Gi' } } })),
  pod('an unknown resource', one({ resources: { requests: { colour: '1' } } })),
  pod('an extended resource without a limit', one({ resources: { requests: { 'example.com/gpu': '1' } } })),
  pod('a probe without a handler', one({ livenessProbe: {} })),
  pod('a probe with two handlers', one({ livenessProbe: { exec: { command: ['a'] }, tcpSocket: { port: 1 } } })),
  pod(
    'a liveness probe that must succeed twice',
    one({ livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } }),
  ),
  pod('a probe with a bad port and scheme', one({ readinessProbe: { httpGet: { port: 0, scheme: 'FTP' } } })),
  pod('an init container with a probe', {
    containers,
    initContainers: [{ name: 'i', image: 'i', readinessProbe: { tcpSocket: { port: 1 } } }],
  }),
  pod('an init container with the name of a container', { containers, initContainers: [{ name: 'main', image: 'i' }] }),
  pod('a bad deadline and hostname', { containers, activeDeadlineSeconds: 0, hostname: 'A.b', subdomain: '-' }),
  pod('a bad node selector', { containers, nodeSelector: { 'a b': 'c d' } }),
  pod('a bad toleration', {
    containers,
    tolerations: [
      { operator: 'Equal' },
      { key: 'a', operator: 'Is' },
      { key: 'a', operator: 'Exists', value: 'x' },
      { key: 'a', effect: 'Nothing' },
    ],
  }),
  pod('ephemeral containers on creation', { containers, ephemeralContainers: [{ name: 'e', image: 'e' }] }),
  pod('host ports that clash', {
    containers: [
      { name: 'a', image: 'a', ports: [{ containerPort: 1, hostPort: 1 }] },
      { name: 'b', image: 'b', ports: [{ containerPort: 1, hostPort: 1 }] },
    ],
  }),
  pod('a string for a number', { containers, activeDeadlineSeconds: 'soon' }),
  pod('a number for a string', one({ image: 1 })),
  pod('an object for a list', { containers: {} }),
  pod('a list for an object', { containers, nodeSelector: [] }),
  pod('a string for an object in a volume', { containers, volumes: [{ name: 'a', configMap: 'c' }] }),
  pod('a quantity that is none', one({ resources: { limits: { cpu: 'much' } } })),
  pod('a quantity with a bad suffix', one({ resources: { limits: { cpu: '1mm' } } })),
  pod('a fraction for an integer', { containers, terminationGracePeriodSeconds: 1.5 }),
  pod('a bool for an int-or-string', one({ livenessProbe: { tcpSocket: { port: true } } })),
  pod('a bool for a named string', { containers, restartPolicy: true }),
  pod('a new image', { containers }, { patch: { spec: { containers: [{ name: 'main', image: 'nginx:2' }] } } }),
  pod('a new label', { containers }, { patch: { metadata: { labels: { a: 'b' } } } }),
  pod(
    'another container',
    { containers },
    { patch: { spec: { containers: [...containers, { name: 'b', image: 'b' }] } } },
  ),
  pod('a new deadline', { containers }, { patch: { spec: { activeDeadlineSeconds: 5 } } }),
  pod('a status through the object', { containers }, { patch: { status: { phase: 'Running' } } }),
  pod(
    'a status through its subresource',
    { containers },
    {
      patch: {
        status: { phase: 'Running', podIP: '10.1.1.1', conditions: [{ type: 'Ready', status: 'True' }] },
        spec: { nodeName: 'x' },
      },
      status: true,
    },
  ),
  pod(
    'another service class of a pod',
    { containers },
    { patch: { status: { qosClass: 'Guaranteed' } }, status: true },
  ),
  pod(
    'a removed scheduling gate',
    { containers, schedulingGates: [{ name: 'a.b/c' }] },
    { patch: { spec: { schedulingGates: [] } } },
  ),
  pod('a moved pod', { containers }, { patch: { spec: { hostname: 'other' } } }),
  pod('an added scheduling gate', { containers }, { patch: { spec: { schedulingGates: [{ name: 'a.b/c' }] } } }),
]
