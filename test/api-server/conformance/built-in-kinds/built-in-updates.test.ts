/** Updates of built-in kinds: immutable fields, status and scale, the graceful deletion of pods, tables. */
import { describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { eventually, expectFailure, expectInvalid, expectStatus, timestamp } from '../../../support/expectations.ts'
import { configMap, object, pod, podTemplate } from '../../../support/objects.ts'

const cluster = useCluster()

const labels = { app: 'x' }
const selector = { matchLabels: labels }

let count = 0

async function create(
  apiVersion: string,
  plural: string,
  kind: string,
  rest: Tree,
  metadata: Tree = {},
): Promise<Body> {
  const path = apiVersion === 'v1' ? cluster.core(plural) : cluster.grouped(apiVersion, plural)
  const body = object(apiVersion, kind, { name: `object-${++count}`, ...metadata }, rest)
  return expectStatus(await cluster.api.post(path, body), 201)
}

const deployments = () => cluster.grouped('apps/v1', 'deployments')
const deployment = (spec: Tree = {}) =>
  create('apps/v1', 'deployments', 'Deployment', { spec: { selector, template: podTemplate(labels), ...spec } })

describe('secrets', () => {
  const path = () => cluster.core('secrets')

  test('a Secret stores stringData as base64 in its data', async () => {
    const body = await create('v1', 'secrets', 'Secret', {
      data: { a: 'YQ==', b: 'Yg==' },
      stringData: { b: 'new', c: 'ž' },
    })
    expect(body['data']).toEqual({ a: 'YQ==', b: 'bmV3', c: 'xb4=' })
    expect(body).not.toHaveProperty('stringData')
    const patched = await cluster.api.mergePatch(`${path()}/${body.metadata.name}`, { stringData: { a: 'x' } })
    expect(patched.body['data']).toEqual({ a: 'eA==', b: 'bmV3', c: 'xb4=' })
  })

  test('the type of a Secret is immutable', async () => {
    const { metadata } = await create('v1', 'secrets', 'Secret', {})
    const answer = await cluster.api.mergePatch(`${path()}/${metadata.name}`, { type: 'example.com/other' })
    const message = 'type: Invalid value: "example.com/other": field is immutable'
    expectInvalid(answer, { kind: 'Secret', name: metadata.name }, message)
  })
})

describe.each([
  ['configmaps', 'ConfigMap', { a: 'x' }, { a: 'y' }],
  ['secrets', 'Secret', { a: 'eA==' }, { a: 'eQ==' }],
])('immutable %s', (plural, kind, before, after) => {
  test('an immutable ConfigMap or Secret refuses changes of its data and of the immutable field', async () => {
    const { metadata } = await create('v1', plural, kind, { immutable: true, data: before })
    const path = cluster.core(`${plural}/${metadata.name}`)
    const changed = await cluster.api.mergePatch(path, { data: after })
    const forbidden = 'Forbidden: field is immutable when `immutable` is set'
    expectInvalid(changed, { kind, name: metadata.name }, `data: ${forbidden}`)
    const reopened = await cluster.api.mergePatch(path, { immutable: false })
    expectInvalid(reopened, { kind, name: metadata.name }, `immutable: ${forbidden}`)
  })

  test('the metadata of an immutable ConfigMap or Secret can change', async () => {
    const { metadata } = await create('v1', plural, kind, { immutable: true, data: before })
    const answer = await cluster.api.mergePatch(cluster.core(`${plural}/${metadata.name}`), { metadata: { labels } })
    expect(answer.status).toBe(200)
    expect(answer.body.metadata.labels).toEqual(labels)
  })
})

describe('deployments', () => {
  test('a Deployment raises its generation with its spec and its annotations', async () => {
    const { metadata } = await deployment()
    const path = `${deployments()}/${metadata.name}`
    const scaled = await cluster.api.mergePatch(path, { spec: { replicas: 3 } })
    expect(scaled.body).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 3 } })
    const labelled = await cluster.api.mergePatch(path, { metadata: { labels } })
    expect(labelled.body.metadata.generation).toBe(2)
    const annotated = await cluster.api.mergePatch(path, { metadata: { annotations: { a: 'b' } } })
    // The generation of a Deployment rises with its annotations too, since they are copied to its ReplicaSets.
    expect(annotated.body.metadata.generation).toBe(3)
  })

  test('the status of a Deployment changes only through its subresource', async () => {
    const { metadata } = await deployment()
    const path = `${deployments()}/${metadata.name}`
    const ignored = await cluster.api.mergePatch(path, { status: { replicas: 5 } })
    expect(ignored.body.status).toEqual({})
    const status = { observedGeneration: 1, replicas: 1, readyReplicas: 1 }
    const { body } = await cluster.api.mergePatch(`${path}/status`, { spec: { replicas: 9 }, status })
    expect(body).toMatchObject({ spec: { replicas: 1 }, status, metadata: { generation: 1 } })
  })

  test('the selector of a Deployment is immutable', async () => {
    const { metadata } = await deployment()
    const change = {
      spec: { selector: { matchLabels: { app: 'y' } }, template: { metadata: { labels: { app: 'y' } } } },
    }
    const answer = await cluster.api.mergePatch(`${deployments()}/${metadata.name}`, change)
    const message = 'spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable'
    expectInvalid(answer, { kind: 'Deployment', group: 'apps', name: metadata.name }, message)
  })

  test('a Deployment can be scaled through its scale subresource', async () => {
    const { metadata } = await deployment({ replicas: 2 })
    const path = `${deployments()}/${metadata.name}`
    const { body } = await cluster.api.get(`${path}/scale`)
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
    expect(body).toEqual({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=x' },
    })
    const scaled = await cluster.api.mergePatch(`${path}/scale`, { spec: { replicas: 5 } })
    expect(scaled.body.spec).toEqual({ replicas: 5 })
    const after = (await cluster.api.get(path)).body
    expect(after).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } })
  })

  test('a Deployment cannot be scaled below zero', async () => {
    const { metadata } = await deployment()
    const answer = await cluster.api.mergePatch(`${deployments()}/${metadata.name}/scale`, { spec: { replicas: -1 } })
    const message = 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    expectInvalid(answer, { kind: 'Scale', group: 'autoscaling', name: metadata.name }, message)
  })

  test('the garbage collector deletes the ReplicaSets of a deleted Deployment', async () => {
    const owner = await deployment()
    const { name, uid } = owner.metadata
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true }]
    const spec = { selector, template: podTemplate(labels) }
    const owned = await create('apps/v1', 'replicasets', 'ReplicaSet', { spec }, { ownerReferences })
    expectStatus(await cluster.api.delete(`${deployments()}/${name}`), 200)
    const path = cluster.grouped('apps/v1', `replicasets/${owned.metadata.name}`)
    await eventually(async () => void expectStatus(await cluster.api.get(path), 404))
  })
})

describe('services', () => {
  const ports = [{ port: 80 }]
  const path = (body: Body) => cluster.core(`services/${body.metadata.name}`)

  test('a Service keeps its clusterIP when an update leaves it out', async () => {
    const body = await create('v1', 'services', 'Service', { spec: { ports } })
    const answer = await cluster.api.put(path(body), { ...body, spec: { ports: [{ port: 81 }] } })
    expect(expectStatus(answer, 200).spec).toMatchObject({
      clusterIP: body.spec['clusterIP'],
      ports: [{ port: 81, targetPort: 81 }],
    })
  })

  test('the clusterIP of a Service is immutable', async () => {
    const body = await create('v1', 'services', 'Service', { spec: { ports } })
    const spec = { clusterIP: '10.0.0.77', clusterIPs: ['10.0.0.77'] }
    const answer = await cluster.api.mergePatch(path(body), { spec })
    const message = 'spec.clusterIPs[0]: Invalid value: ["10.0.0.77"]: may not change once set'
    expectInvalid(answer, { kind: 'Service', name: body.metadata.name }, message)
  })

  test('two Services get different cluster IPs', async () => {
    const [first, second] = [
      await create('v1', 'services', 'Service', { spec: { ports } }),
      await create('v1', 'services', 'Service', { spec: { ports } }),
    ]
    expect(first!.spec['clusterIP']).not.toBe(second!.spec['clusterIP'])
  })

  test('a headless Service has no cluster IP', async () => {
    const body = await create('v1', 'services', 'Service', { spec: { clusterIP: 'None', selector: labels } })
    expect(body.spec).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' })
  })

  test('a NodePort Service gets a port between 30000 and 32767', async () => {
    const body = await create('v1', 'services', 'Service', { spec: { type: 'NodePort', ports } })
    const [port] = body.spec['ports'] as Array<{ nodePort: number }>
    expect(port!.nodePort).toBeGreaterThanOrEqual(30000)
    expect(port!.nodePort).toBeLessThanOrEqual(32767)
  })
})

describe('pods', () => {
  const path = (body: Body) => cluster.core(`pods/${body.metadata.name}`)

  async function createPod(spec: Tree = {}, metadata: Tree = {}): Promise<Body> {
    const name = `object-${++count}`
    const body = pod({ name, ...metadata }, { automountServiceAccountToken: false, ...spec })
    // The server refuses pods until the new namespace has its service account.
    return eventually(async () => expectStatus(await cluster.api.post(cluster.core('pods'), body), 201))
  }

  test('an unscheduled pod is deleted at once, and the answer is the pod', async () => {
    const body = await createPod()
    const answer = await cluster.api.delete(path(body))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      kind: 'Pod',
      metadata: { name: body.metadata.name, deletionTimestamp: timestamp, deletionGracePeriodSeconds: 0 },
    })
    expect((await cluster.api.get(path(body))).status).toBe(404)
  })

  test('a scheduled pod is deleted with a grace period of 30 seconds', async () => {
    const body = await createPod({ nodeName: 'somewhere' })
    const { metadata } = (await cluster.api.delete(path(body))).body
    expect(metadata.deletionGracePeriodSeconds).toBe(30)
    const left = Date.parse(metadata.deletionTimestamp!) - Date.now()
    expect(left).toBeGreaterThan(20_000)
    expect(left).toBeLessThan(40_000)
    expect((await cluster.api.get(path(body))).status).toBe(200)
    const shortened = await cluster.api.delete(path(body), { query: { gracePeriodSeconds: 5 } })
    expect(shortened.body.metadata.deletionGracePeriodSeconds).toBe(5)
    expectStatus(await cluster.api.delete(path(body), { query: { gracePeriodSeconds: 0 } }), 200)
    expect((await cluster.api.get(path(body))).status).toBe(404)
  })

  test('a pod is deleted with its own terminationGracePeriodSeconds', async () => {
    const body = await createPod({ nodeName: 'somewhere', terminationGracePeriodSeconds: 7 })
    const { metadata } = (await cluster.api.delete(path(body))).body
    expect(metadata.deletionGracePeriodSeconds).toBe(7)
    expectStatus(await cluster.api.delete(path(body), { body: { gracePeriodSeconds: 0 } }), 200)
    expect((await cluster.api.get(path(body))).status).toBe(404)
  })

  test('a completed pod is deleted without a grace period', async () => {
    const body = await createPod({ nodeName: 'somewhere' })
    expectStatus(await cluster.api.mergePatch(`${path(body)}/status`, { status: { phase: 'Succeeded' } }), 200)
    expectStatus(await cluster.api.delete(path(body)), 200)
    expect((await cluster.api.get(path(body))).status).toBe(404)
  })

  test('a deleted pod with finalizers stays until they are removed', async () => {
    const body = await createPod({}, { finalizers: ['example.com/keep'] })
    const { metadata } = (await cluster.api.delete(path(body))).body
    expect(metadata).toMatchObject({ deletionTimestamp: timestamp, deletionGracePeriodSeconds: 0 })
    expectStatus(await cluster.api.mergePatch(path(body), { metadata: { finalizers: null } }), 200)
    expect((await cluster.api.get(path(body))).status).toBe(404)
  })

  test('the status of a pod changes only through its subresource', async () => {
    const body = await createPod()
    const ignored = await cluster.api.mergePatch(path(body), { status: { phase: 'Running' } })
    expect(ignored.body.status['phase']).toBe('Pending')
    const changed = await cluster.api.mergePatch(`${path(body)}/status`, { status: { phase: 'Running' } })
    expect(changed.body.status['phase']).toBe('Running')
  })

  test('a pod allows a change of its image, but not of its container names', async () => {
    const body = await createPod()
    const [container] = body.spec['containers'] as Tree[]
    const image = { ...body, spec: { ...body.spec, containers: [{ ...container, image: 'busybox' }] } }
    const updated = expectStatus(await cluster.api.put(path(body), image), 200)
    expect(updated.spec['containers']).toMatchObject([{ image: 'busybox' }])
    const renamed = { ...updated, spec: { ...updated.spec, containers: [{ ...container, name: 'other' }] } }
    const answer = await cluster.api.put(path(body), renamed)
    expect(answer.status).toBe(422)
    expect(answer.body['message']).toContain('spec: Forbidden: pod updates may not change fields other than')
  })

  test.each([
    ['BestEffort', {}],
    ['Burstable', { requests: { cpu: '1' } }],
    ['Guaranteed', { limits: { cpu: '1', memory: '1Gi' } }],
  ])('the QoS class of a pod is %s by the resources of its containers', async (qosClass, resources) => {
    const body = await createPod({ containers: [{ name: 'main', image: 'nginx', resources }] })
    expect(body.status).toEqual({ phase: 'Pending', qosClass })
  })

  test('the pull policy of a container is Always without a tag or with the tag latest', async () => {
    const images = ['nginx', 'nginx:latest', 'nginx:1', 'nginx@sha256:'.padEnd(77, 'a')]
    const containers = images.map((image, index) => ({ name: `c${index}`, image }))
    const body = await createPod({ containers })
    const policies = (body.spec['containers'] as Tree[]).map(({ imagePullPolicy }) => imagePullPolicy)
    expect(policies).toEqual(['Always', 'Always', 'IfNotPresent', 'IfNotPresent'])
  })

  test('pods are selectable by node and phase', async () => {
    const body = await createPod({ nodeName: 'selected-node' })
    for (const fieldSelector of ['spec.nodeName=selected-node', 'spec.nodeName=selected-node,status.phase=Pending']) {
      const { body: list } = await cluster.api.get(cluster.core('pods'), { fieldSelector })
      expect(list.items.map(({ metadata }) => metadata.name)).toEqual([body.metadata.name])
    }
    const none = await cluster.api.get(cluster.core('pods'), {
      fieldSelector: 'status.phase=Running,spec.nodeName=selected-node',
    })
    expect(none.body.items).toEqual([])
  })
})

describe('leases', () => {
  test('a Lease keeps the microseconds of its times', async () => {
    const spec = { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.123456Z' }
    const body = await create('coordination.k8s.io/v1', 'leases', 'Lease', { spec })
    expect(body.spec).toEqual(spec)
    const path = cluster.grouped('coordination.k8s.io/v1', `leases/${body.metadata.name}`)
    const renewed = await cluster.api.mergePatch(path, { spec: { renewTime: '2020-01-01T00:00:01.000000Z' } })
    expect(renewed.body.spec).toEqual({ ...spec, renewTime: '2020-01-01T00:00:01.000000Z' })
  })
})

describe('tables of built-in kinds', () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const age = expect.stringMatching(/^\d+(s|m|m\d+s)$/)

  async function table(path: string): Promise<{ columns: Array<[unknown, unknown]>; cells: unknown[] }> {
    const { body } = await cluster.api.get(path, {}, { accept })
    const columns = body.columnDefinitions.map(({ name, priority }): [unknown, unknown] => [name, priority])
    return { columns, cells: body.rows[0]!.cells }
  }

  test('the Table of a Deployment has the columns of kubectl', async () => {
    const { metadata } = await deployment()
    const { columns, cells } = await table(`${deployments()}/${metadata.name}`)
    expect(columns).toEqual([
      ['Name', 0],
      ['Ready', 0],
      ['Up-to-date', 0],
      ['Available', 0],
      ['Age', 0],
      ['Containers', 1],
      ['Images', 1],
      ['Selector', 1],
    ])
    expect(cells).toEqual([metadata.name, '0/1', 0, 0, age, 'main', 'nginx', 'app=x'])
  })

  test('the Table of a Service has the columns of kubectl', async () => {
    const { metadata, spec } = await create('v1', 'services', 'Service', {
      spec: { ports: [{ port: 80 }], selector: labels },
    })
    const { columns, cells } = await table(cluster.core(`services/${metadata.name}`))
    expect(columns.map(([name]) => name)).toEqual([
      'Name',
      'Type',
      'Cluster-IP',
      'External-IP',
      'Port(s)',
      'Age',
      'Selector',
    ])
    expect(cells).toEqual([metadata.name, 'ClusterIP', spec['clusterIP'], '<none>', '80/TCP', age, 'app=x'])
  })

  test('the Table of a Secret has the columns of kubectl', async () => {
    const { metadata } = await create('v1', 'secrets', 'Secret', { stringData: { a: 'b' } })
    const { columns, cells } = await table(cluster.core(`secrets/${metadata.name}`))
    expect(columns.map(([name]) => name)).toEqual(['Name', 'Type', 'Data', 'Age'])
    expect(cells).toEqual([metadata.name, 'Opaque', 1, age])
  })

  test('the Table of a pod has the columns of kubectl', async () => {
    const body = pod(`object-${++count}`, { automountServiceAccountToken: false })
    const created = await eventually(async () => expectStatus(await cluster.api.post(cluster.core('pods'), body), 201))
    const { columns, cells } = await table(cluster.core(`pods/${created.metadata.name}`))
    expect(columns.map(([name]) => name)).toEqual([
      'Name',
      'Ready',
      'Status',
      'Restarts',
      'Age',
      'IP',
      'Node',
      'Nominated Node',
      'Readiness Gates',
    ])
    const none = '<none>'
    expect(cells).toEqual([created.metadata.name, '0/1', 'Pending', '0', age, none, none, none, none])
  })

  test('the Table of a namespace has the columns of kubectl', async () => {
    const { columns, cells } = await table(`/api/v1/namespaces/${cluster.namespace}`)
    expect(columns.map(([name]) => name)).toEqual(['Name', 'Status', 'Age'])
    expect(cells).toEqual([cluster.namespace, 'Active', age])
  })

  test('the Table of a ConfigMap has the columns of kubectl', async () => {
    const { metadata } = expectStatus(
      await cluster.api.post(cluster.core('configmaps'), configMap(`object-${++count}`, { data: { a: '', b: '' } })),
      201,
    )
    const { cells } = await table(cluster.core(`configmaps/${metadata.name}`))
    expect(cells).toEqual([metadata.name, 2, age])
  })

  test('the Table of a kind without its own columns has the name and the creation time', async () => {
    const { metadata } = await create('v1', 'limitranges', 'LimitRange', { spec: { limits: [] } })
    const { columns, cells } = await table(cluster.core(`limitranges/${metadata.name}`))
    expect(columns.map(([name]) => name)).toEqual(['Name', 'Created At'])
    expect(cells).toEqual([metadata.name, metadata.creationTimestamp])
  })
})

describe('updates of a missing lease', () => {
  const path = cluster.grouped('coordination.k8s.io/v1', 'leases')
  const lease = (name: string, metadata: Tree = {}) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...metadata },
    spec: {},
  })

  test('a PUT of a missing Lease creates it whatever resourceVersion it names', async () => {
    const answer = await cluster.api.put(`${path}/versioned`, lease('versioned', { resourceVersion: '5' }))
    expect(expectStatus(answer, 201).metadata.resourceVersion).not.toBe('5')
    const dry = await cluster.api.put(`${path}/dry`, lease('dry', { resourceVersion: '5' }), {
      query: { dryRun: 'All' },
    })
    expect(expectStatus(dry, 201).metadata.resourceVersion).toBe('5')
    const odd = await cluster.api.put(`${path}/odd`, lease('odd', { resourceVersion: 'x' }))
    expectFailure(odd, 500, '', 'strconv.ParseUint: parsing "x": invalid syntax')
  })

  test('a PUT of a missing Lease with a uid is a conflict', async () => {
    const answer = await cluster.api.put(`${path}/other`, lease('other', { uid: 'x' }))
    const key = `/registry/leases/${cluster.namespace}/other`
    const why = 'Precondition failed: UID in precondition: x, UID in object meta: '
    const message = `Operation cannot be fulfilled on leases.coordination.k8s.io "other": StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`
    expectFailure(answer, 409, 'Conflict', message, { name: 'other', group: 'coordination.k8s.io', kind: 'leases' })
  })
})
