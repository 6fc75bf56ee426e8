/** Validation errors of built-in kinds, with the messages of Kubernetes. All requests are dry runs. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { type Cause, eventually, expectFailure, expectInvalid } from '../../../support/expectations.ts'
import { configMapKey, dnsLabel, namePart } from '../../../support/messages.ts'
import { object, podTemplate } from '../../../support/objects.ts'

const cluster = useCluster()

const container = { name: 'main', image: 'nginx' }
const pod = { containers: [container] }
const once = { spec: { ...pod, restartPolicy: 'Never' } }
const labels = { app: 'x' }
const selector = { matchLabels: labels }
const template = podTemplate(labels)
const jobTemplate = { spec: { template: once } }

async function send(apiVersion: string, plural: string, kind: string, name: string, rest: Tree): Promise<Answer> {
  const path = apiVersion === 'v1' ? cluster.core(plural) : cluster.grouped(apiVersion, plural)
  // The server refuses pods until the new namespace has its service account.
  return eventually(async () => {
    const answer = await cluster.api.post(path, object(apiVersion, kind, name, rest), { query: { dryRun: 'All' } })
    if (answer.status === 403) throw new Error(answer.text)
    return answer
  })
}

type Case = [title: string, content: Tree, ...causes: Cause[]]

function refuses(apiVersion: string, plural: string, kind: string, cases: Case[]): void {
  describe(`validation of ${kind} in ${apiVersion}`, () => {
    test.each(cases)(`the API server refuses a ${kind} with %s`, async (_, content, ...causes) => {
      const answer = await send(apiVersion, plural, kind, 'refused', content)
      const group = apiVersion === 'v1' ? '' : apiVersion.split('/')[0]!
      expectInvalid(answer, { kind, group, name: 'refused' }, ...(causes as Cause[]))
    })
  })
}

/** Cases whose content is the spec. */
const specs = (cases: Case[]): Case[] => cases.map(([title, spec, ...causes]) => [title, { spec }, ...causes])

const ofContainer = (change: Tree) => ({ containers: [{ ...container, ...change }] })

refuses(
  'v1',
  'pods',
  'Pod',
  specs([
    ['no containers', {}, 'spec.containers: Required value'],
    ['a container without a name', { containers: [{ image: 'x' }] }, 'spec.containers[0].name: Required value'],
    ['a container without an image', { containers: [{ name: 'a' }] }, 'spec.containers[0].image: Required value'],
    [
      'two containers of the same name',
      { containers: [container, container] },
      'spec.containers[1].name: Duplicate value: "main"',
    ],
    [
      'a container name in upper case',
      ofContainer({ name: 'A' }),
      `spec.containers[0].name: Invalid value: "A": ${dnsLabel}`,
    ],
    [
      'an init container named like a container',
      { ...pod, initContainers: [container] },
      'spec.initContainers[0].name: Duplicate value: "main"',
    ],
    [
      'an unknown restart policy',
      { ...pod, restartPolicy: 'X' },
      'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      'an unknown pull policy',
      ofContainer({ imagePullPolicy: 'X' }),
      'spec.containers[0].imagePullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
    ],
    [
      'an unknown DNS policy',
      { ...pod, dnsPolicy: 'X' },
      'spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
    [
      'an environment variable with an equals sign',
      ofContainer({ env: [{ name: 'a=b', value: 'x' }] }),
      `spec.containers[0].env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of ` +
        "printable ASCII characters other than '='",
    ],
    [
      'an environment variable with two values',
      ofContainer({ env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ],
    [
      'the container port 0',
      ofContainer({ ports: [{ containerPort: 0 }] }),
      'spec.containers[0].ports[0].containerPort: Required value',
    ],
    [
      'a container port above 65535',
      ofContainer({ ports: [{ containerPort: 70000 }] }),
      'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    [
      'a mount of a missing volume',
      ofContainer({ volumeMounts: [{ name: 'v', mountPath: '/x' }] }),
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ],
    [
      'a request over the limit',
      ofContainer({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      'a volume with two sources',
      { ...pod, volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }] },
      'spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type',
    ],
    [
      'a probe without an action',
      ofContainer({ livenessProbe: {} }),
      'spec.containers[0].livenessProbe: Required value: must specify a handler type',
    ],
    [
      'a wrong node selector',
      { ...pod, nodeSelector: { 'a b': 'c' } },
      `spec.nodeSelector: Invalid value: "a b": ${namePart}`,
    ],
    [
      'the activeDeadlineSeconds 0',
      { ...pod, activeDeadlineSeconds: 0 },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    [
      'a hostPort other than the containerPort on the host network',
      { ...ofContainer({ ports: [{ containerPort: 80, hostPort: 81 }] }), hostNetwork: true },
      'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
    ],
  ]),
)

refuses(
  'apps/v1',
  'deployments',
  'Deployment',
  specs([
    [
      'an empty spec',
      {},
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
    [
      'a selector that does not select its own pods',
      { selector: { matchLabels: { app: 'y' } }, template },
      'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not match template `labels`',
    ],
    [
      'negative replicas',
      { replicas: -1, selector, template },
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'rollingUpdate and the strategy Recreate',
      { selector, template, strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ],
    [
      'maxSurge and maxUnavailable 0',
      { selector, template, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0',
    ],
    [
      'a malformed percentage',
      { selector, template, strategy: { rollingUpdate: { maxSurge: 'x%' } } },
      `spec.strategy.rollingUpdate.maxSurge: Invalid value: "x%": a valid percent string must be a numeric string followed ` +
        "by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
    [
      'the restartPolicy Never',
      { selector, template: { ...template, spec: { ...pod, restartPolicy: 'Never' } } },
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ],
    [
      'a progress deadline before minReadySeconds',
      { selector, template, progressDeadlineSeconds: 5, minReadySeconds: 10 },
      'spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds',
    ],
  ]),
)

refuses(
  'apps/v1',
  'statefulsets',
  'StatefulSet',
  specs([
    [
      'an empty spec',
      {},
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
  ]),
)

refuses(
  'apps/v1',
  'daemonsets',
  'DaemonSet',
  specs([
    [
      'an empty spec',
      {},
      'spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`',
      'spec.template.spec.containers: Required value',
    ],
  ]),
)

refuses(
  'batch/v1',
  'jobs',
  'Job',
  specs([
    [
      'an empty spec',
      {},
      'spec.template.spec.containers: Required value',
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'no restartPolicy',
      { template: { spec: pod } },
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
    [
      'negative numbers',
      { parallelism: -1, completions: -1, backoffLimit: -1, template: once },
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
      'spec.completions: Invalid value: -1: must be greater than or equal to 0',
      'spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0',
    ],
  ]),
)

refuses(
  'batch/v1',
  'cronjobs',
  'CronJob',
  specs([
    ['no schedule', { schedule: '', jobTemplate }, 'spec.schedule: Required value'],
    [
      'a malformed schedule',
      { schedule: 'x', jobTemplate },
      'spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]',
    ],
    [
      'an unknown concurrencyPolicy',
      { schedule: '* * * * *', concurrencyPolicy: 'X', jobTemplate },
      'spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"',
    ],
    [
      'an unknown time zone',
      { schedule: '* * * * *', timeZone: 'Nowhere/X', jobTemplate },
      'spec.timeZone: Invalid value: "Nowhere/X": unknown time zone Nowhere/X',
    ],
  ]),
)

refuses(
  'v1',
  'services',
  'Service',
  specs([
    ['no ports', {}, 'spec.ports: Required value'],
    [
      'an unknown type',
      { type: 'X', ports: [{ port: 80 }] },
      'spec.type: Unsupported value: "X": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    [
      'the port 0',
      { ports: [{ port: 0 }] },
      'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
    [
      'several ports without names',
      { ports: [{ port: 80 }, { port: 81 }] },
      'spec.ports[0].name: Required value',
      'spec.ports[1].name: Required value',
    ],
    [
      'a malformed clusterIP',
      { clusterIP: 'x', ports: [{ port: 80 }] },
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    ['the type ExternalName and no externalName', { type: 'ExternalName' }, 'spec.externalName: Required value'],
    [
      'an unknown protocol',
      { ports: [{ port: 80, protocol: 'X' }] },
      'spec.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
    ],
    [
      'a node port and the type ClusterIP',
      { ports: [{ port: 80, nodePort: 30000 }] },
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      'a wrong selector',
      { ports: [{ port: 80 }], selector: { 'a b': 'c' } },
      `spec.selector: Invalid value: "a b": ${namePart}`,
    ],
  ]),
)

refuses('v1', 'secrets', 'Secret', [
  ['keys with spaces', { data: { 'a b': 'YQ==' } }, `data[a b]: Invalid value: "a b": ${configMapKey}`],
  [
    'the type tls and no certificate and key',
    { type: 'kubernetes.io/tls' },
    'data[tls.crt]: Required value',
    'data[tls.key]: Required value',
  ],
  [
    'the type basic-auth and no user name and password',
    { type: 'kubernetes.io/basic-auth' },
    'data[username]: Required value',
    'data[password]: Required value',
  ],
  ['the type ssh-auth and no key', { type: 'kubernetes.io/ssh-auth' }, 'data[ssh-privatekey]: Required value'],
  [
    'the type service-account-token and no account',
    { type: 'kubernetes.io/service-account-token' },
    'metadata.annotations[kubernetes.io/service-account.name]: Required value',
  ],
])

refuses('v1', 'configmaps', 'ConfigMap', [
  ['keys with spaces', { data: { 'a b': 'x' } }, `data[a b]: Invalid value: "a b": ${configMapKey}`],
  ['the key ..', { data: { '..': '' } }, `data[..]: Invalid value: "..": must not be '..'`],
  [
    'a key of 254 characters',
    { data: { ['a'.repeat(254)]: '' } },
    `data[${'a'.repeat(254)}]: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`,
  ],
  [
    'the same key in data and binaryData',
    { data: { a: 'x' }, binaryData: { a: 'YQ==' } },
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ],
  [
    'more than 1 MiB of data',
    { data: { a: 'x'.repeat(1024 * 1024 + 1) } },
    '[]: Too long: may not be more than 1048576 bytes',
  ],
])

refuses(
  'v1',
  'persistentvolumeclaims',
  'PersistentVolumeClaim',
  specs([
    [
      'an empty spec',
      {},
      'spec.accessModes: Required value: at least 1 access mode is required',
      'spec.resources[storage]: Required value',
    ],
    [
      'an unknown access mode and a negative request',
      { accessModes: ['X'], resources: { requests: { storage: '-1' } } },
      'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ' +
        '"ReadWriteOncePod"',
      'spec.resources[storage]: Invalid value: "-1": must be greater than zero',
    ],
  ]),
)

const backend = { service: { name: 'a', port: { number: 80 } } }
refuses(
  'networking.k8s.io/v1',
  'ingresses',
  'Ingress',
  specs([
    ['an empty spec', {}, 'spec: Invalid value: null: either `defaultBackend` or `rules` must be specified'],
    [
      'a relative path',
      { rules: [{ http: { paths: [{ path: 'x', pathType: 'Exact', backend }] } }] },
      'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
    ],
    [
      'a path without a pathType',
      { rules: [{ http: { paths: [{ path: '/x', backend }] } }] },
      'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified',
    ],
  ]),
)

refuses('rbac.authorization.k8s.io/v1', 'roles', 'Role', [
  [
    'an empty rule',
    { rules: [{ verbs: [] }] },
    'rules[0].verbs: Required value: verbs must contain at least one value',
    'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    'rules[0].resources: Required value: resource rules must supply at least one resource',
  ],
])

refuses('rbac.authorization.k8s.io/v1', 'rolebindings', 'RoleBinding', [
  [
    'a roleRef of another kind',
    { roleRef: { kind: 'X', name: '' } },
    'roleRef.kind: Unsupported value: "X": supported values: "Role", "ClusterRole"',
    'roleRef.name: Required value',
  ],
  [
    'subjects of another kind',
    {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' },
      subjects: [{ kind: 'X', name: '' }],
    },
    'subjects[0].name: Required value',
    'subjects[0].kind: Unsupported value: "X": supported values: "ServiceAccount", "User", "Group"',
  ],
])

refuses(
  'coordination.k8s.io/v1',
  'leases',
  'Lease',
  specs([
    [
      'numbers out of range',
      { leaseDurationSeconds: 0, leaseTransitions: -1 },
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ],
  ]),
)

refuses('v1', 'events', 'Event', [
  [
    'an involvedObject in another namespace',
    { involvedObject: { namespace: 'other' } },
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ],
])

refuses(
  'autoscaling/v2',
  'horizontalpodautoscalers',
  'HorizontalPodAutoscaler',
  specs([
    [
      'an empty target and maxReplicas 0',
      { scaleTargetRef: {}, maxReplicas: 0 },
      'spec.maxReplicas: Required value: must be set and greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
  ]),
)

describe('undecodable objects', () => {
  test.each<[string, string, string, Tree, string]>([
    [
      'v1',
      'pods',
      'Pod',
      { spec: ofContainer({ resources: { requests: { cpu: 'x' } } }) },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'v1',
      'pods',
      'Pod',
      { spec: { containers: {} } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    ['v1', 'secrets', 'Secret', { data: { a: '!' } }, 'illegal base64 data at input byte 0'],
    ['v1', 'configmaps', 'ConfigMap', { binaryData: { a: '!' } }, 'illegal base64 data at input byte 0'],
    [
      'coordination.k8s.io/v1',
      'leases',
      'Lease',
      { spec: { renewTime: '2020-01-01T00:00:00Z' } },
      'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    [
      'apps/v1',
      'deployments',
      'Deployment',
      { spec: { replicas: 'many' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
  ])(
    'the API server answers 400 to an undecodable object in %s %s',
    async (apiVersion, plural, kind, content, message) => {
      const answer = await send(apiVersion, plural, kind, 'refused', content)
      expectFailure(answer, 400, 'BadRequest', `${kind} in version "v1" cannot be handled as a ${kind}: ${message}`)
    },
  )
})

describe('names of built-in kinds', () => {
  test('the name of a CronJob is limited to 52 characters, to leave room for those of its Jobs', async () => {
    const name = 'a'.repeat(53)
    const answer = await send('batch/v1', 'cronjobs', 'CronJob', name, { spec: { schedule: '* * * * *', jobTemplate } })
    const message = `metadata.name: Invalid value: "${name}": must be no more than 52 characters`
    expectInvalid(answer, { kind: 'CronJob', group: 'batch', name }, message)
  })

  test.each([
    ['Upper', `Invalid value: "Upper": ${dnsLabel}`],
    ['dot.ted', 'Invalid value: "dot.ted": must not contain dots'],
  ])('the name of a namespace must be a DNS label, which %j is not', async (name, message) => {
    const answer = await cluster.api.post('/api/v1/namespaces', object('v1', 'Namespace', name))
    expectInvalid(answer, { kind: 'Namespace', name }, `metadata.name: ${message}`)
  })

  test.each(['system:node:x', 'Upper Case', 'a:b'])(
    'a Role may have any path segment as its name: %j',
    async (name) => {
      const answer = await send('rbac.authorization.k8s.io/v1', 'roles', 'Role', name, {})
      expect(answer.status).toBe(201)
    },
  )
})
