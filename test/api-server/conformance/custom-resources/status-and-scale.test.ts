/** The status and scale subresources of custom resources, and what the main resource ignores. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { labelValue, modified } from '../../../support/messages.ts'
import { object } from '../../../support/objects.ts'

const cluster = useCluster()
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)
const plains = () => cluster.custom('plains')

let count = 0

async function create(rest: Tree = {}, metadata: Tree = {}): Promise<Body> {
  return expectStatus(await cluster.api.post(widgets(), widget({ name: `object-${++count}`, ...metadata }, rest)), 201)
}

const pathOf = (body: Body, subresource: string) => `${widgets()}/${body.metadata.name}/${subresource}`

beforeAll(async () => {
  const spec = { type: 'object', properties: { size: { type: 'integer' }, replicas: { type: 'integer' } } }
  const status = {
    type: 'object',
    properties: { phase: { type: 'string' }, replicas: { type: 'integer' }, selector: { type: 'string' } },
  }
  const scale = {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  }
  await Promise.all([
    cluster.install({
      kind: 'Widget',
      schema: { type: 'object', properties: { spec, status } },
      subresources: { status: {}, scale },
    }),
    cluster.install({ kind: 'Plain' }),
  ])
})

describe('the main resource of a custom resource', () => {
  test('a creation drops the status of a custom resource with a status subresource', async () => {
    const body = await create({ spec: { size: 1 }, status: { phase: 'Ready' } })
    expect(body).not.toHaveProperty('status')
  })

  test('an update of the main resource leaves the status unchanged', async () => {
    const created = await create({ spec: { size: 1 } })
    const path = `${widgets()}/${created.metadata.name}`
    const { body } = await cluster.api.mergePatch(`${path}/status`, { status: { phase: 'Ready' } })
    const updated = await cluster.api.put(path, { ...body, spec: { size: 2 }, status: { phase: 'Broken' } })
    expect(updated.body).toMatchObject({ spec: { size: 2 }, status: { phase: 'Ready' } })
    const removed = await cluster.api.put(path, { ...updated.body, status: undefined })
    expect(removed.body.status).toEqual({ phase: 'Ready' })
  })

  test('a patch of the status through the main resource changes nothing', async () => {
    const before = await create({ spec: { size: 1 } })
    const { body } = await cluster.api.mergePatch(`${widgets()}/${before.metadata.name}`, {
      status: { phase: 'Ready' },
    })
    expect(body).toEqual(before)
  })

  test('a custom resource without a status subresource keeps its status through the main resource', async () => {
    const plain = object(`${cluster.group}/v1`, 'Plain', 'with-status', { status: { phase: 'Ready' } })
    const created = await cluster.api.post(plains(), plain)
    expect(created.body.status).toEqual({ phase: 'Ready' })
    const patched = await cluster.api.mergePatch(`${plains()}/with-status`, { status: { phase: 'Done' } })
    expect(patched.body).toMatchObject({ status: { phase: 'Done' }, metadata: { generation: 2 } })
  })
})

describe('the status subresource', () => {
  test('a GET of the status subresource returns the whole object', async () => {
    const created = await create({ spec: { size: 1 } })
    const answer = await cluster.api.get(pathOf(created, 'status'))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(created)
  })

  test('the status subresource changes the status and nothing else', async () => {
    const created = await create({ spec: { size: 1 } })
    const change = {
      ...created,
      metadata: { ...created.metadata, labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['example.com/a'] },
      spec: { size: 2 },
      status: { phase: 'Ready' },
    }
    const { body } = await cluster.api.put(pathOf(created, 'status'), change)
    expect(body).toEqual({
      ...created,
      metadata: { ...created.metadata, resourceVersion: body.metadata.resourceVersion },
      status: { phase: 'Ready' },
    })
    expect(body.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
  })

  test('the status subresource does not raise the generation', async () => {
    const created = await create({ spec: { size: 1 } })
    const { body } = await cluster.api.mergePatch(pathOf(created, 'status'), { status: { phase: 'Ready' } })
    expect(body.metadata.generation).toBe(1)
  })

  test('the status subresource accepts merge patches and JSON patches', async () => {
    const created = await create()
    const merged = await cluster.api.mergePatch(pathOf(created, 'status'), { status: { phase: 'Ready' } })
    expect(merged.body.status).toEqual({ phase: 'Ready' })
    const operations = [{ op: 'replace', path: '/status/phase', value: 'Done' }]
    const patched = await cluster.api.jsonPatch(pathOf(created, 'status'), operations)
    expect(patched.body.status).toEqual({ phase: 'Done' })
  })

  test('the status subresource ignores changes of the spec in patches', async () => {
    const created = await create({ spec: { size: 1 } })
    const answer = await cluster.api.mergePatch(pathOf(created, 'status'), { spec: { size: 5 } })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(created)
  })

  test('an update of the status with an old resourceVersion is a conflict', async () => {
    const created = await create()
    expectStatus(await cluster.api.mergePatch(pathOf(created, 'status'), { status: { phase: 'Ready' } }), 200)
    const answer = await cluster.api.put(pathOf(created, 'status'), { ...created, status: { phase: 'Done' } })
    const { name } = created.metadata
    const message = `Operation cannot be fulfilled on widgets.${cluster.group} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, { name, group: cluster.group, kind: 'widgets' })
  })

  test('the status subresource validates the status by the schema', async () => {
    const created = await create()
    const answer = await cluster.api.mergePatch(pathOf(created, 'status'), { status: { phase: 5 } })
    const message = 'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"'
    const subject = { kind: 'Widget', group: cluster.group, name: created.metadata.name }
    expectInvalid(answer, subject, ['FieldValueTypeInvalid', message])
  })

  test('the status subresource warns about unknown fields and drops them', async () => {
    const created = await create()
    const answer = await cluster.api.mergePatch(pathOf(created, 'status'), { status: { phase: 'Ready', extra: 1 } })
    expect(answer.body.status).toEqual({ phase: 'Ready' })
    expect(warningsOf(answer)).toEqual(['unknown field "status.extra"'])
  })

  test('the status subresource supports neither creation nor deletion', async () => {
    const created = await create()
    expect((await cluster.api.post(pathOf(created, 'status'), created)).status).toBe(405)
    expect((await cluster.api.delete(pathOf(created, 'status'))).status).toBe(405)
    expect((await cluster.api.get(`${widgets()}/${created.metadata.name}`)).body).toEqual(created)
  })

  test('the status of a missing object is not found', async () => {
    const answer = await cluster.api.mergePatch(`${widgets()}/none/status`, { status: {} })
    const details = { name: 'none', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "none" not found`, details)
  })

  test('the status subresource of a custom resource without one is not found', async () => {
    expectStatus(await cluster.api.post(plains(), object(`${cluster.group}/v1`, 'Plain', 'plain')), 201)
    const answer = await cluster.api.mergePatch(`${plains()}/plain/status`, { status: { phase: 'Ready' } })
    const details = { name: 'plain', group: cluster.group, kind: 'plains' }
    expectFailure(answer, 404, 'NotFound', `plains.${cluster.group} "plain" not found`, details)
  })

  test('the status subresource ignores invalid labels, which the main resource refuses', async () => {
    const created = await create()
    const patch = { metadata: { labels: { a: 'b c' } }, status: { phase: 'Ready' } }
    const answer = await cluster.api.mergePatch(pathOf(created, 'status'), patch)
    expect(answer.status).toBe(200)
    const main = await cluster.api.mergePatch(`${widgets()}/${created.metadata.name}`, patch)
    const subject = { kind: 'Widget', group: cluster.group, name: created.metadata.name }
    expectInvalid(main, subject, `metadata.labels: Invalid value: "b c": ${labelValue}`)
  })
})

describe('the scale subresource', () => {
  test('the scale subresource shows the replicas of spec and status, and the selector', async () => {
    const created = await create({ spec: { replicas: 3 } })
    const status = { replicas: 2, selector: 'app=x' }
    const { metadata } = (await cluster.api.mergePatch(pathOf(created, 'status'), { status })).body
    const { body } = await cluster.api.get(pathOf(created, 'scale'))
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
    expect(body).toEqual({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=x' },
    })
  })

  test('the scale subresource omits zero replicas of the spec', async () => {
    const created = await create({ spec: { replicas: 0 } })
    const { body } = await cluster.api.get(pathOf(created, 'scale'))
    expect([body.spec, body.status]).toEqual([{}, { replicas: 0 }])
  })

  test('the scale subresource fails where the spec has no replicas', async () => {
    const created = await create({ spec: { size: 1 } })
    const answer = await cluster.api.get(pathOf(created, 'scale'))
    const why = 'the spec replicas field ".spec.replicas" does not exist'
    expectFailure(answer, 500, 'InternalError', `Internal error occurred: ${why}`, { causes: [{ message: why }] })
  })

  test('the scale subresource changes the replicas of the spec and nothing else', async () => {
    const created = await create({ spec: { replicas: 1, size: 1 } })
    const scale = (await cluster.api.get(pathOf(created, 'scale'))).body
    const change = { ...scale, spec: { replicas: 5 }, status: { replicas: 9 } }
    const { body } = await cluster.api.put(pathOf(created, 'scale'), change)
    expect(body).toMatchObject({ kind: 'Scale', spec: { replicas: 5 }, status: { replicas: 0 } })
    const after = (await cluster.api.get(`${widgets()}/${created.metadata.name}`)).body
    expect(after).toMatchObject({ spec: { replicas: 5, size: 1 }, metadata: { generation: 2 } })
    expect(after).not.toHaveProperty('status')
  })

  test('the scale subresource accepts patches', async () => {
    const created = await create({ spec: { replicas: 1 } })
    const merged = await cluster.api.mergePatch(pathOf(created, 'scale'), { spec: { replicas: 2 } })
    expect(merged.body.spec).toEqual({ replicas: 2 })
    const operations = [{ op: 'replace', path: '/spec/replicas', value: 7 }]
    const patched = await cluster.api.jsonPatch(pathOf(created, 'scale'), operations)
    expect(patched.body.spec).toEqual({ replicas: 7 })
    expect((await cluster.api.get(`${widgets()}/${created.metadata.name}`)).body.spec).toEqual({ replicas: 7 })
  })

  test('the scale subresource supports dry runs', async () => {
    const created = await create({ spec: { replicas: 1 } })
    const query = { dryRun: 'All' }
    const answer = await cluster.api.mergePatch(pathOf(created, 'scale'), { spec: { replicas: 2 } }, { query })
    expect(answer.body.spec).toEqual({ replicas: 2 })
    expect((await cluster.api.get(`${widgets()}/${created.metadata.name}`)).body).toEqual(created)
  })

  test('the scale subresource refuses negative replicas', async () => {
    const created = await create({ spec: { replicas: 1 } })
    const answer = await cluster.api.mergePatch(pathOf(created, 'scale'), { spec: { replicas: -1 } })
    const subject = { kind: 'Widget', group: cluster.group, name: created.metadata.name }
    expectInvalid(answer, subject, '.spec.replicas: Invalid value: -1: should be a non-negative integer')
  })

  test('an update of the scale with an old resourceVersion is a conflict', async () => {
    const created = await create({ spec: { replicas: 1 } })
    const scale = (await cluster.api.get(pathOf(created, 'scale'))).body
    expectStatus(await cluster.api.mergePatch(pathOf(created, 'scale'), { spec: { replicas: 2 } }), 200)
    const answer = await cluster.api.put(pathOf(created, 'scale'), { ...scale, spec: { replicas: 3 } })
    const { name } = created.metadata
    const message = `Operation cannot be fulfilled on widgets.${cluster.group} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, { name, group: cluster.group, kind: 'widgets' })
  })

  test('the scale subresource of a custom resource without one is not found', async () => {
    expectStatus(await cluster.api.post(plains(), object(`${cluster.group}/v1`, 'Plain', 'unscaled')), 201)
    const answer = await cluster.api.get(`${plains()}/unscaled/scale`)
    const details = { name: 'unscaled', group: cluster.group, kind: 'plains' }
    expectFailure(answer, 404, 'NotFound', `plains.${cluster.group} "unscaled" not found`, details)
  })
})

test('an unknown subresource of a custom resource is not found', async () => {
  const created = await create()
  const answer = await cluster.api.get(pathOf(created, 'nonsense'))
  const { name } = created.metadata
  const details = { name, group: cluster.group, kind: 'widgets' }
  expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "${name}" not found`, details)
})
