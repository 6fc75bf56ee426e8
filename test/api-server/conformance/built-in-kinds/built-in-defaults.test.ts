/** Built-in kinds: a minimal object of each, and its defaults. */
import { describe, expect, test } from 'vitest'
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectStatus, timestamp, uuid, version, warningsOf } from '../../../support/expectations.ts'
import { object, podTemplate } from '../../../support/objects.ts'

const cluster = useCluster()

const container = { name: 'main', image: 'nginx' }
const filledContainer = {
  ...container,
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'Always',
}
const filledPod = (restartPolicy = 'Always') => ({
  containers: [filledContainer],
  restartPolicy,
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  securityContext: {},
  schedulerName: 'default-scheduler',
})
const labels = { app: 'x' }
const selector = { matchLabels: labels }
const template = podTemplate(labels)
const filledTemplate = { metadata: { labels }, spec: filledPod() }
const once = { spec: { containers: [container], restartPolicy: 'Never' } }

/** Removes the fields that controllers and admission plugins set: they differ between clusters. */
function withoutAdmission(body: Body): Tree {
  const { metadata, ...rest } = structuredClone(body)
  delete metadata.finalizers
  if (body.kind === 'Pod') {
    for (const field of ['serviceAccount', 'serviceAccountName', 'tolerations', 'priority', 'preemptionPolicy']) {
      delete rest.spec[field]
    }
  }
  if (body.kind === 'Node') delete rest.spec['taints']
  return { ...rest, metadata }
}

/** Retries: the server refuses pods until the new namespace has its service account. */
async function create(path: string, body: Tree): Promise<Answer> {
  if (!path.endsWith('/pods')) return cluster.api.post(path, body)
  return eventually(async () => {
    const answer = await cluster.api.post(path, body)
    if (answer.status === 403) throw new Error(answer.text)
    return answer
  })
}

describe('namespaced kinds', () => {
  test.each<[string, string, string, Tree, Tree]>([
    ['v1', 'configmaps', 'ConfigMap', {}, {}],
    ['v1', 'secrets', 'Secret', {}, { type: 'Opaque' }],
    ['v1', 'serviceaccounts', 'ServiceAccount', {}, {}],
    [
      'v1',
      'pods',
      'Pod',
      { spec: { containers: [container], automountServiceAccountToken: false } },
      {
        spec: { ...filledPod(), automountServiceAccountToken: false, enableServiceLinks: true },
        status: { phase: 'Pending', qosClass: 'BestEffort' },
      },
    ],
    [
      'v1',
      'services',
      'Service',
      { spec: { ports: [{ port: 80 }] } },
      {
        spec: {
          ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }],
          clusterIP: expect.stringMatching(/^10\./),
          clusterIPs: [expect.stringMatching(/^10\./)],
          type: 'ClusterIP',
          sessionAffinity: 'None',
          ipFamilies: ['IPv4'],
          ipFamilyPolicy: 'SingleStack',
          internalTrafficPolicy: 'Cluster',
        },
        status: { loadBalancer: {} },
      },
    ],
    ['v1', 'limitranges', 'LimitRange', {}, { spec: { limits: null } }],
    ['v1', 'resourcequotas', 'ResourceQuota', {}, { spec: {}, status: {} }],
    [
      'v1',
      'persistentvolumeclaims',
      'PersistentVolumeClaim',
      { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
      {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      },
    ],
    ['v1', 'podtemplates', 'PodTemplate', { template }, { template: filledTemplate }],
    [
      'v1',
      'replicationcontrollers',
      'ReplicationController',
      { spec: { selector: labels, template } },
      { spec: { replicas: 1, selector: labels, template: filledTemplate }, status: { replicas: 0 } },
    ],
    [
      'apps/v1',
      'deployments',
      'Deployment',
      { spec: { selector, template } },
      {
        spec: {
          replicas: 1,
          selector,
          template: filledTemplate,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
          revisionHistoryLimit: 10,
          progressDeadlineSeconds: 600,
        },
        status: {},
      },
    ],
    [
      'apps/v1',
      'replicasets',
      'ReplicaSet',
      { spec: { selector, template } },
      { spec: { replicas: 1, selector, template: filledTemplate }, status: { replicas: 0 } },
    ],
    [
      'apps/v1',
      'statefulsets',
      'StatefulSet',
      { spec: { selector, template, serviceName: 'x' } },
      {
        spec: {
          replicas: 1,
          selector,
          template: filledTemplate,
          serviceName: 'x',
          podManagementPolicy: 'OrderedReady',
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
          revisionHistoryLimit: 10,
          persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
        },
        status: { replicas: 0, availableReplicas: 0 },
      },
    ],
    [
      'apps/v1',
      'daemonsets',
      'DaemonSet',
      { spec: { selector, template } },
      {
        spec: {
          selector,
          template: filledTemplate,
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
          revisionHistoryLimit: 10,
        },
        status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
      },
    ],
    [
      'apps/v1',
      'controllerrevisions',
      'ControllerRevision',
      { revision: 1, data: { a: 1 } },
      { revision: 1, data: { a: 1 } },
    ],
    [
      'batch/v1',
      'cronjobs',
      'CronJob',
      { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: once } } } },
      {
        spec: {
          schedule: '* * * * *',
          concurrencyPolicy: 'Allow',
          suspend: false,
          jobTemplate: { metadata: {}, spec: { template: { metadata: {}, spec: filledPod('Never') } } },
          successfulJobsHistoryLimit: 3,
          failedJobsHistoryLimit: 1,
        },
        status: {},
      },
    ],
    [
      'networking.k8s.io/v1',
      'ingresses',
      'Ingress',
      { spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } } },
      {
        spec: { defaultBackend: { service: { name: 'x', port: { number: 80 } } } },
        status: { loadBalancer: {} },
      },
    ],
    [
      'networking.k8s.io/v1',
      'networkpolicies',
      'NetworkPolicy',
      { spec: {} },
      { spec: { podSelector: {}, policyTypes: ['Ingress'] } },
    ],
    [
      'policy/v1',
      'poddisruptionbudgets',
      'PodDisruptionBudget',
      { spec: {} },
      { spec: {}, status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } },
    ],
    ['rbac.authorization.k8s.io/v1', 'roles', 'Role', {}, { rules: null }],
    [
      'rbac.authorization.k8s.io/v1',
      'rolebindings',
      'RoleBinding',
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' } },
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' } },
    ],
    ['coordination.k8s.io/v1', 'leases', 'Lease', {}, { spec: {} }],
    [
      'discovery.k8s.io/v1',
      'endpointslices',
      'EndpointSlice',
      { addressType: 'IPv4', endpoints: [] },
      { addressType: 'IPv4', endpoints: null, ports: null },
    ],
    [
      'autoscaling/v2',
      'horizontalpodautoscalers',
      'HorizontalPodAutoscaler',
      { spec: { scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' }, maxReplicas: 3 } },
      {
        spec: {
          scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' },
          minReplicas: 1,
          maxReplicas: 3,
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
          ],
        },
        status: { desiredReplicas: 0, currentMetrics: null },
      },
    ],
  ])(
    'the API server fills in the defaults of a minimal object in %s %s',
    async (apiVersion, plural, kind, given, filled) => {
      const path = apiVersion === 'v1' ? cluster.core(plural) : cluster.grouped(apiVersion, plural)
      const answer = await create(path, object(apiVersion, kind, 'least', given))
      expectStatus(answer, 201)
      const { metadata, ...rest } = withoutAdmission(answer.body)
      expect(rest).toEqual({ apiVersion, kind, ...filled })
      expect(metadata).toMatchObject({
        name: 'least',
        namespace: cluster.namespace,
        uid: uuid,
        resourceVersion: version,
        creationTimestamp: timestamp,
      })
      const read = await cluster.api.get(`${path}/least`)
      expect(read.body).toEqual(answer.body)
      expectStatus(await cluster.api.delete(`${path}/least`), 200)
    },
  )
})

describe('cluster-scoped kinds', () => {
  const webhook = {
    name: 'a.example.com',
    clientConfig: { url: 'https://a.example.com' },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    rules: [{ apiGroups: ['none.example.com'], apiVersions: ['v1'], resources: ['x'], operations: ['CREATE'] }],
  }
  const filledWebhook = {
    ...webhook,
    rules: [{ ...webhook.rules[0], scope: '*' }],
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  }
  const nothing = {
    machineID: '',
    systemUUID: '',
    bootID: '',
    kernelVersion: '',
    osImage: '',
    containerRuntimeVersion: '',
    kubeletVersion: '',
    kubeProxyVersion: '',
    operatingSystem: '',
    architecture: '',
  }

  test.each<[string, string, string, Tree, Tree]>([
    ['v1', 'namespaces', 'Namespace', {}, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }],
    [
      'v1',
      'nodes',
      'Node',
      {},
      { spec: {}, status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: nothing } },
    ],
    [
      'v1',
      'persistentvolumes',
      'PersistentVolume',
      { spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } } },
      {
        spec: {
          capacity: { storage: '1Gi' },
          hostPath: { path: '/x', type: '' },
          accessModes: ['ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          volumeMode: 'Filesystem',
        },
        status: { phase: 'Pending', lastPhaseTransitionTime: timestamp },
      },
    ],
    ['rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', {}, { rules: null }],
    [
      'rbac.authorization.k8s.io/v1',
      'clusterrolebindings',
      'ClusterRoleBinding',
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' } },
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' } },
    ],
    [
      'storage.k8s.io/v1',
      'storageclasses',
      'StorageClass',
      { provisioner: 'example.com/x' },
      { provisioner: 'example.com/x', reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
    ],
    [
      'networking.k8s.io/v1',
      'ingressclasses',
      'IngressClass',
      { spec: { controller: 'example.com/x' } },
      { spec: { controller: 'example.com/x' } },
    ],
    [
      'scheduling.k8s.io/v1',
      'priorityclasses',
      'PriorityClass',
      { value: 5 },
      { value: 5, preemptionPolicy: 'PreemptLowerPriority' },
    ],
    [
      'admissionregistration.k8s.io/v1',
      'validatingwebhookconfigurations',
      'ValidatingWebhookConfiguration',
      { webhooks: [webhook] },
      { webhooks: [filledWebhook] },
    ],
    [
      'admissionregistration.k8s.io/v1',
      'mutatingwebhookconfigurations',
      'MutatingWebhookConfiguration',
      { webhooks: [webhook] },
      { webhooks: [{ ...filledWebhook, reinvocationPolicy: 'Never' }] },
    ],
  ])(
    'the API server fills in the defaults of a minimal cluster-scoped object in %s %s',
    async (apiVersion, plural, kind, given, filled) => {
      const name = `${cluster.namespace}-least`
      const path = apiVersion === 'v1' ? `/api/v1/${plural}` : `/apis/${apiVersion}/${plural}`
      const answer = await cluster.api.post(path, object(apiVersion, kind, name, given))
      cluster.defer(() => cluster.api.delete(`${path}/${name}`))
      expectStatus(answer, 201)
      const { metadata, ...rest } = withoutAdmission(answer.body)
      expect(rest).toEqual({ apiVersion, kind, ...filled })
      expect(metadata).toMatchObject({ name, uid: uuid, resourceVersion: version, creationTimestamp: timestamp })
      expect(metadata).not.toHaveProperty('namespace')
    },
  )
})

describe('metadata of built-in kinds', () => {
  test.each([
    ['apps/v1', 'deployments', 'Deployment', { spec: { selector, template } }],
    ['batch/v1', 'cronjobs', 'CronJob', { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: once } } } }],
    ['networking.k8s.io/v1', 'networkpolicies', 'NetworkPolicy', { spec: {} }],
  ])('a new object in %s %s has the generation 1', async (apiVersion, plural, kind, rest) => {
    const { body } = await cluster.api.post(
      cluster.grouped(apiVersion, plural),
      object(apiVersion, kind, 'counted', rest),
    )
    expect(body.metadata.generation).toBe(1)
  })

  test.each([
    ['configmaps', 'ConfigMap', {}],
    ['secrets', 'Secret', {}],
    ['services', 'Service', { spec: { ports: [{ port: 80 }] } }],
  ])('an object in v1 %s has no generation', async (plural, kind, rest) => {
    const { body } = await cluster.api.post(cluster.core(plural), object('v1', kind, 'uncounted', rest))
    expect(body.metadata).not.toHaveProperty('generation')
  })

  test('a DaemonSet has an annotation with the generation of its template', async () => {
    const path = cluster.grouped('apps/v1', 'daemonsets')
    const { body } = await cluster.api.post(
      path,
      object('apps/v1', 'DaemonSet', 'generations', { spec: { selector, template } }),
    )
    expect(body.metadata.annotations).toEqual({ 'deprecated.daemonset.template.generation': '1' })
  })

  test('a namespace has a label with its name', async () => {
    const { body } = await cluster.api.get(`/api/v1/namespaces/${cluster.namespace}`)
    expect(body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': cluster.namespace })
  })
})

test('a Job gets labels and a selector with its own uid', async () => {
  const path = cluster.grouped('batch/v1', 'jobs')
  const answer = await cluster.api.post(path, object('batch/v1', 'Job', 'own', { spec: { template: once } }))
  const { metadata, spec } = expectStatus(answer, 201)
  const { uid } = metadata
  const own = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': 'own',
    'controller-uid': uid,
    'job-name': 'own',
  }
  expect(spec).toEqual({
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
    manualSelector: false,
    template: { metadata: { labels: own }, spec: filledPod('Never') },
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  })
  expect(metadata.labels).toEqual(own)
})

test('the API server warns that v1 Endpoints are deprecated', async () => {
  const answer = await cluster.api.post(cluster.core('endpoints'), object('v1', 'Endpoints', 'deprecated'))
  expect(answer.status).toBe(201)
  expect(warningsOf(answer)).toEqual(['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'])
})

describe('quantities', () => {
  test.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['2', '2'],
    ['1e3', '1e3'],
    [3, '3'],
  ])('the cpu quantity %j is stored as %j', async (given, written) => {
    const resources = { requests: { cpu: given } }
    const pod = { spec: { containers: [{ ...container, resources }] } }
    const template = object('v1', 'PodTemplate', { generateName: 'quantity-' }, { template: pod })
    const { body } = await cluster.api.post(cluster.core('podtemplates'), template)
    expect(body['template']).toMatchObject({ spec: { containers: [{ resources: { requests: { cpu: written } } }] } })
  })

  test.each([
    ['1024Mi', '1Gi'],
    ['1Gi', '1Gi'],
    ['1500M', '1500M'],
    ['1000Ki', '1000Ki'],
  ])('the memory quantity %j is stored as %j', async (given, written) => {
    const resources = { limits: { memory: given } }
    const pod = { spec: { containers: [{ ...container, resources }] } }
    const template = object('v1', 'PodTemplate', { generateName: 'quantity-' }, { template: pod })
    const { body } = await cluster.api.post(cluster.core('podtemplates'), template)
    expect(body['template']).toMatchObject({ spec: { containers: [{ resources: { limits: { memory: written } } }] } })
  })
})

describe('events', () => {
  const core = () => cluster.core('events')
  const modern = () => cluster.grouped('events.k8s.io/v1', 'events')

  test('an Event of v1 is readable as one of events.k8s.io/v1', async () => {
    const event = object('v1', 'Event', 'first', {
      involvedObject: { kind: 'ConfigMap', namespace: cluster.namespace, name: 'x' },
      reason: 'Tested',
      message: 'it was tested',
      type: 'Normal',
      source: { component: 'tests' },
      firstTimestamp: '2020-01-01T00:00:00Z',
      lastTimestamp: '2020-01-02T00:00:00Z',
      count: 2,
    })
    const created = expectStatus(await cluster.api.post(core(), event), 201)
    const { body } = await cluster.api.get(`${modern()}/first`)
    expect(body).toEqual({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: created.metadata,
      eventTime: null,
      reason: 'Tested',
      regarding: { kind: 'ConfigMap', namespace: cluster.namespace, name: 'x' },
      note: 'it was tested',
      type: 'Normal',
      deprecatedSource: { component: 'tests' },
      deprecatedFirstTimestamp: '2020-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2020-01-02T00:00:00Z',
      deprecatedCount: 2,
    })
  })

  test('an Event of events.k8s.io/v1 is readable as one of v1', async () => {
    const event = object('events.k8s.io/v1', 'Event', 'later', {
      eventTime: '2020-01-01T00:00:00.000000Z',
      reportingController: 'example.com/tests',
      reportingInstance: 'tests-1',
      action: 'Testing',
      reason: 'Tested',
      type: 'Normal',
      note: 'it was tested',
      regarding: { namespace: cluster.namespace },
    })
    const created = expectStatus(await cluster.api.post(modern(), event), 201)
    const { body } = await cluster.api.get(`${core()}/later`)
    expect(body).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: created.metadata,
      involvedObject: { namespace: cluster.namespace },
      reason: 'Tested',
      message: 'it was tested',
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      type: 'Normal',
      eventTime: '2020-01-01T00:00:00.000000Z',
      action: 'Testing',
      reportingComponent: 'example.com/tests',
      reportingInstance: 'tests-1',
    })
  })

  test('an Event needs only an involvedObject', async () => {
    const event = object('v1', 'Event', 'least', { involvedObject: { namespace: cluster.namespace } })
    const { metadata: _, ...rest } = expectStatus(await cluster.api.post(core(), event), 201)
    expect(rest).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { namespace: cluster.namespace },
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    })
  })

  test.each([
    ['reason=Selected', 1],
    ['involvedObject.name=one', 1],
    ['involvedObject.kind=Thing,type=Warning', 1],
    ['involvedObject.name=two', 0],
  ])('events are selectable by %s', async (fieldSelector, expected) => {
    const event = object('v1', 'Event', 'selected', {
      involvedObject: { kind: 'Thing', namespace: cluster.namespace, name: 'one' },
      reason: 'Selected',
      type: 'Warning',
    })
    expectStatus(await cluster.api.post(core(), event), 201, 409)
    const { body } = await cluster.api.get(core(), { fieldSelector })
    expect(body.items).toHaveLength(expected)
  })
})
