/** The AdmissionReview that webhooks get: the whole request, for each verb and each subresource. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type Body, type Tree, withoutManagedFields } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus, timestamp, uuid, version } from '../../../support/expectations.ts'
import { modified } from '../../../support/messages.ts'
import { object } from '../../../support/objects.ts'
import type { Asked, Review } from '../../../support/webhook-server.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const maps = () => cluster.core('configmaps')
const widgets = (version?: string) => cluster.custom('widgets', version)
const map = (metadata: string | Tree, rest: Tree = { data: { a: '1' } }) => object('v1', 'ConfigMap', metadata, rest)
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

let user: Tree

beforeAll(async () => {
  const properties = { replicas: { type: 'integer' }, colour: { type: 'string', default: 'red' } }
  await cluster.install({
    kind: 'Widget',
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties },
        status: { type: 'object', properties: { phase: { type: 'string' } } },
      },
    },
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  })
  const who = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { status } = expectStatus(await cluster.api.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', who), 201)
  user = status['userInfo'] as Tree
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }]
  webhooks.server.on('/mutate', allow)
  webhooks.server.on('/validate', allow)
  await webhooks.install('Mutating', 'all', webhooks.hook('mutate', '/mutate', { rules }))
  await webhooks.install('Validating', 'all', webhooks.hook('validate', '/validate', { rules }))
})

interface Reviews {
  readonly answer: Answer
  readonly mutating: readonly Tree[]
  readonly validating: readonly Tree[]
}

/** Sends the request, and returns the reviews that webhooks get meanwhile. */
async function during(request: () => Promise<Answer>): Promise<Reviews> {
  const { server } = webhooks
  server.forget('/mutate')
  server.forget('/validate')
  const answer = await request()
  return { answer, mutating: server.asked('/mutate').map(told), validating: server.asked('/validate').map(told) }
}

/** The request of a review without its generated uid and without managedFields. */
function told({ review }: Asked): Tree {
  expect(review).toEqual({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: expect.anything() })
  const { uid, ...request } = review.request
  expect(uid).toEqual(uuid)
  for (const field of ['object', 'oldObject']) withoutManagedFields(request[field])
  return request
}

const mapType: Tree = {
  kind: { group: '', version: 'v1', kind: 'ConfigMap' },
  resource: { group: '', version: 'v1', resource: 'configmaps' },
  requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
  requestResource: { group: '', version: 'v1', resource: 'configmaps' },
}

const widgetType = (): Tree => {
  const { group } = cluster
  const kind = { group, version: 'v1', kind: 'Widget' }
  const resource = { group, version: 'v1', resource: 'widgets' }
  return { kind, resource, requestKind: kind, requestResource: resource }
}

const options = (kind: string, rest: Tree = {}): Tree => ({ kind, apiVersion: 'meta.k8s.io/v1', ...rest })

const here = (rest: Tree): Tree => ({ namespace: cluster.namespace, userInfo: user, dryRun: false, ...rest })

const given = (body: Body): Tree => ({ uid: body.metadata.uid, creationTimestamp: body.metadata.creationTimestamp })

describe('reviews of a creation', () => {
  test('the review of a creation shows the sent object to mutating webhooks, and the object to be stored to validating webhooks', async () => {
    const query = { fieldManager: 'me', fieldValidation: 'Strict' }
    const sent = map({ name: 'created', uid: 'mine', creationTimestamp: '2020-01-01T00:00:00Z' })
    const { mutating, validating } = await during(() => cluster.api.post(maps(), sent, { query }))
    const common = here({
      ...mapType,
      name: 'created',
      operation: 'CREATE',
      oldObject: null,
      options: options('CreateOptions', query),
    })
    const metadata = { name: 'created', namespace: cluster.namespace }
    expect(mutating).toEqual([{ ...common, object: map(metadata) }])
    expect(validating).toEqual([{ ...common, object: map({ ...metadata, uid: uuid, creationTimestamp: timestamp }) }])
  })

  test('the review of a creation with generateName has no name for mutating webhooks', async () => {
    const { answer, mutating, validating } = await during(() =>
      cluster.api.post(maps(), map({ generateName: 'made-' }, {})),
    )
    const { name } = answer.body.metadata
    expect(mutating).toHaveLength(1)
    expect(mutating[0]).not.toHaveProperty('name')
    expect(mutating[0]!['object']).toEqual(map({ generateName: 'made-', namespace: cluster.namespace }, {}))
    expect(validating).toMatchObject([{ name, object: { metadata: { name, generateName: 'made-' } } }])
  })

  test('the review of a creation says whether it is a dry run', async () => {
    const { mutating, validating } = await during(() =>
      cluster.api.post(maps(), map('dry'), { query: { dryRun: 'All' } }),
    )
    const expected = { dryRun: true, options: options('CreateOptions', { dryRun: ['All'] }) }
    expect([...mutating, ...validating]).toMatchObject([expected, expected])
    expectStatus(await cluster.api.get(`${maps()}/dry`), 404)
  })

  test('the review of an invalid object goes to mutating webhooks only', async () => {
    const { answer, mutating, validating } = await during(() => cluster.api.post(maps(), map('Not_Good')))
    expect([answer.status, mutating.length, validating.length]).toEqual([422, 1, 0])
  })

  test('a PUT that creates an object is reviewed as a creation', async () => {
    const lease = object('coordination.k8s.io/v1', 'Lease', 'by-update', { spec: { holderIdentity: 'x' } })
    const path = cluster.grouped('coordination.k8s.io/v1', 'leases/by-update')
    const { answer, mutating, validating } = await during(() => cluster.api.put(path, lease))
    const expected = { operation: 'CREATE', name: 'by-update', oldObject: null, options: options('CreateOptions') }
    expect(answer.status).toBe(201)
    expect([...mutating, ...validating]).toMatchObject([expected, expected])
  })

  test('the review of a new custom resource has its defaults, and its status for mutating webhooks only', async () => {
    const spec = { replicas: 1 }
    const sent = widget({ name: 'widget', generation: 7 }, { spec, status: { phase: 'x' } })
    const { mutating, validating } = await during(() => cluster.api.post(widgets(), sent))
    const common = here({
      ...widgetType(),
      name: 'widget',
      operation: 'CREATE',
      oldObject: null,
      options: options('CreateOptions'),
    })
    const metadata = { name: 'widget', namespace: cluster.namespace }
    const defaulted = { spec: { replicas: 1, colour: 'red' } }
    expect(mutating).toEqual([
      { ...common, object: widget({ ...metadata, generation: 7 }, { ...defaulted, status: { phase: 'x' } }) },
    ])
    const system = { uid: uuid, creationTimestamp: timestamp, generation: 1 }
    expect(validating).toEqual([{ ...common, object: widget({ ...metadata, ...system }, defaulted) }])
  })
})

describe('reviews of an update', () => {
  test('the review of an update has the old object', async () => {
    const created = expectStatus(await cluster.api.post(maps(), map('updated')), 201)
    const labels = { x: 'y' }
    const { mutating, validating } = await during(() =>
      cluster.api.put(`${maps()}/updated`, map({ name: 'updated', labels })),
    )
    const metadata = { name: 'updated', namespace: cluster.namespace }
    const old = { ...metadata, ...given(created), resourceVersion: created.metadata.resourceVersion }
    const common = here({
      ...mapType,
      name: 'updated',
      operation: 'UPDATE',
      oldObject: map(old),
      options: options('UpdateOptions'),
    })
    expect(mutating).toEqual([{ ...common, object: map({ ...metadata, labels }) }])
    expect(validating).toEqual([{ ...common, object: map({ ...old, labels }) }])
  })

  test('a patch is reviewed as an update', async () => {
    const created = expectStatus(await cluster.api.post(maps(), map('patched')), 201)
    const { mutating, validating } = await during(() =>
      cluster.api.mergePatch(`${maps()}/patched`, { data: { b: '2' } }, { query: { fieldManager: 'me' } }),
    )
    const expected = {
      operation: 'UPDATE',
      object: { metadata: given(created), data: { a: '1', b: '2' } },
      oldObject: { data: { a: '1' } },
      options: options('UpdateOptions', { fieldManager: 'me' }),
    }
    expect([...mutating, ...validating]).toMatchObject([expected, expected])
  })

  test('an update that changes nothing is reviewed', async () => {
    const created = expectStatus(await cluster.api.post(maps(), map('same')), 201)
    const { answer, mutating, validating } = await during(() => cluster.api.put(`${maps()}/same`, map('same')))
    expect([mutating.length, validating.length]).toEqual([1, 1])
    expect(answer.body.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
  })

  test('an update of an old resourceVersion is a conflict after the call of mutating webhooks', async () => {
    const created = expectStatus(await cluster.api.post(maps(), map('stale')), 201)
    const newest = expectStatus(await cluster.api.mergePatch(`${maps()}/stale`, { data: { b: '2' } }), 200)
    // The real API server first checks its watch cache: while that is stale, it calls the validating webhooks too.
    expectStatus(await cluster.api.get(`${maps()}/stale?resourceVersion=${newest.metadata.resourceVersion}`), 200)
    const { resourceVersion } = created.metadata
    const { answer, mutating, validating } = await during(() =>
      cluster.api.put(`${maps()}/stale`, map({ name: 'stale', resourceVersion })),
    )
    const message = `Operation cannot be fulfilled on configmaps "stale": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, { name: 'stale', kind: 'configmaps' })
    expect([mutating.length, validating.length]).toEqual([1, 0])
  })

  test('an update with another uid is a conflict before any webhook is called', async () => {
    expectStatus(await cluster.api.post(maps(), map('other')), 201)
    const { answer, mutating } = await during(() =>
      cluster.api.put(`${maps()}/other`, map({ name: 'other', uid: 'mine' })),
    )
    expect([answer.status, mutating.length]).toEqual([409, 0])
  })

  test('the review of a status update names the subresource, and shows validating webhooks only changes of the status', async () => {
    const created = expectStatus(await cluster.api.post(widgets(), widget('status', { spec: { replicas: 1 } })), 201)
    const change = { status: { phase: 'y' }, spec: { replicas: 99 } }
    const { mutating, validating } = await during(() => cluster.api.mergePatch(`${widgets()}/status/status`, change))
    const metadata = { ...created.metadata, resourceVersion: version }
    const spec = { replicas: 1, colour: 'red' }
    const common = here({
      ...widgetType(),
      subResource: 'status',
      requestSubResource: 'status',
      name: 'status',
      operation: 'UPDATE',
      oldObject: widget(metadata, { spec }),
      options: options('UpdateOptions'),
    })
    const { status } = change
    expect(mutating).toEqual([{ ...common, object: widget(metadata, { spec: { ...spec, replicas: 99 }, status }) }])
    expect(validating).toEqual([{ ...common, object: widget(metadata, { spec, status }) }])
  })

  test('the review of a scale update has Scale objects', async () => {
    const created = expectStatus(await cluster.api.post(widgets(), widget('scale', { spec: { replicas: 2 } })), 201)
    const { mutating, validating } = await during(() =>
      cluster.api.mergePatch(`${widgets()}/scale/scale`, { spec: { replicas: 4 } }),
    )
    const { uid, creationTimestamp, resourceVersion } = created.metadata
    const metadata = { name: 'scale', namespace: cluster.namespace, uid, creationTimestamp, resourceVersion }
    const scale = (replicas: number) =>
      object('autoscaling/v1', 'Scale', metadata, { spec: { replicas }, status: { replicas: 0 } })
    const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
    const expected = here({
      ...widgetType(),
      kind,
      requestKind: kind,
      subResource: 'scale',
      requestSubResource: 'scale',
      name: 'scale',
      operation: 'UPDATE',
      object: scale(4),
      oldObject: scale(2),
      options: options('UpdateOptions'),
    })
    expect([...mutating, ...validating]).toEqual([expected, expected])
  })
})

describe('reviews of a deletion', () => {
  test('the review of a deletion has the old object and no new one', async () => {
    const created = expectStatus(await cluster.api.post(maps(), map('deleted')), 201)
    const { mutating, validating } = await during(() => cluster.api.delete(`${maps()}/deleted`))
    const expected = here({
      ...mapType,
      name: 'deleted',
      operation: 'DELETE',
      object: null,
      oldObject: map({ ...created.metadata }),
      options: options('DeleteOptions'),
    })
    expect([...mutating, ...validating]).toEqual([expected, expected])
  })

  test('the review of a deletion has the delete options', async () => {
    const created = expectStatus(
      await cluster.api.post(maps(), map({ name: 'held', finalizers: ['a.example.com/b'] })),
      201,
    )
    const body = {
      gracePeriodSeconds: 5,
      preconditions: { uid: created.metadata.uid },
      propagationPolicy: 'Background',
      dryRun: ['All'],
    }
    const { validating } = await during(() =>
      cluster.api.request('DELETE', `${maps()}/held`, { body: { kind: 'DeleteOptions', apiVersion: 'v1', ...body } }),
    )
    expect(validating).toMatchObject([{ dryRun: true, options: options('DeleteOptions', body) }])
  })

  test('a second deletion of the same object is reviewed', async () => {
    expectStatus(await cluster.api.post(maps(), map({ name: 'twice', finalizers: ['a.example.com/b'] })), 201)
    expectStatus(await cluster.api.delete(`${maps()}/twice`), 200)
    const { validating } = await during(() => cluster.api.delete(`${maps()}/twice`))
    expect(validating).toMatchObject([{ oldObject: { metadata: { deletionTimestamp: timestamp } } }])
  })

  test('the removal of the last finalizer is reviewed as an update', async () => {
    expectStatus(await cluster.api.post(maps(), map({ name: 'last', finalizers: ['a.example.com/b'] })), 201)
    expectStatus(await cluster.api.delete(`${maps()}/last`), 200)
    const { mutating, validating } = await during(() =>
      cluster.api.mergePatch(`${maps()}/last`, { metadata: { finalizers: null } }),
    )
    expect([...mutating, ...validating]).toMatchObject([{ operation: 'UPDATE' }, { operation: 'UPDATE' }])
    expectStatus(await cluster.api.get(`${maps()}/last`), 404)
  })

  test('the deletion of a collection is reviewed for each object, without a name', async () => {
    const labels = { collection: 'yes' }
    for (const name of ['first', 'second']) {
      expectStatus(await cluster.api.post(maps(), map({ name, labels })), 201)
    }
    const query = { labelSelector: 'collection=yes' }
    const { validating } = await during(() => cluster.api.delete(maps(), { query }))
    expect(validating).toMatchObject([
      { operation: 'DELETE', oldObject: { metadata: { name: 'first' } } },
      { operation: 'DELETE', oldObject: { metadata: { name: 'second' } } },
    ])
    for (const request of validating) expect(request).not.toHaveProperty('name')
  })

  test('the deletion of a missing object calls no webhook', async () => {
    const { answer, mutating, validating } = await during(() => cluster.api.delete(`${maps()}/nothing`))
    expect([answer.status, mutating.length, validating.length]).toEqual([404, 0, 0])
  })
})

describe('reviews of namespaces', () => {
  test('the review of a namespace names that namespace as its namespace', async () => {
    const path = `/api/v1/namespaces/${cluster.namespace}`
    const { mutating, validating } = await during(() =>
      cluster.api.mergePatch(path, { metadata: { labels: { z: 'z' } } }),
    )
    const expected = { name: cluster.namespace, namespace: cluster.namespace, operation: 'UPDATE' }
    expect([...mutating, ...validating]).toMatchObject([expected, expected])
  })
})

test('the webhook call has the timeout, the media types and the user agent of kube-apiserver', async () => {
  webhooks.server.forget('/validate')
  expectStatus(await cluster.api.post(maps(), map('called')), 201)
  const [{ url, headers }] = webhooks.server.asked('/validate') as [Asked]
  expect(url).toBe('/validate?timeout=10s')
  expect(headers).toMatchObject({
    host: `127.0.0.1:${webhooks.server.port}`,
    'content-type': 'application/json',
    accept: 'application/json, */*',
    'user-agent': 'kube-apiserver-admission',
  })
})

test('the API server sends the first review version of the webhook that it supports', async () => {
  const { server } = webhooks
  // A v1beta1 response needs neither a uid nor a kind.
  const answer = (review: Review): Tree => ({ apiVersion: review.apiVersion, response: { allowed: true } })
  server.on('/older', ({ review }) => ({ body: answer(review) }))
  await webhooks.install(
    'Validating',
    'older',
    webhooks.hook('older', '/older', { admissionReviewVersions: ['v0', 'v1beta1', 'v1'] }),
  )
  expectStatus(await cluster.api.post(maps(), map('older')), 201)
  expect(server.reviews('/older').at(-1)).toMatchObject({
    apiVersion: 'admission.k8s.io/v1beta1',
    request: { ...mapType, name: 'older', operation: 'CREATE' },
  })
})
