/** Replacing an object: which version may be replaced, what cannot change, and when nothing has happened at all. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../support/expectations.ts'
import { labelValue, modified, noSuchMethod, unknownFormat } from '../support/messages.ts'
import { configMap, object } from '../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

let count = 0
const newName = () => `object-${++count}`

async function create(path: string, body: Tree): Promise<Body> {
  return expectStatus(await cluster.api.post(path, body), 201)
}

beforeAll(async () => {
  await cluster.install({
    kind: 'Widget',
    schema: { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
  })
})

const kinds = [
  { title: 'built-in', path: configMaps, make: configMap, group: () => '', plural: 'configmaps', kind: 'ConfigMap' },
  { title: 'custom', path: widgets, make: widget, group: () => cluster.group, plural: 'widgets', kind: 'Widget' },
]

describe.each(kinds)('an update of a $title kind', ({ path, make, group, plural, kind }) => {
  const details = (name: string) => ({ name, ...(group() === '' ? {} : { group: group() }), kind: plural })
  const resource = () => (group() === '' ? plural : `${plural}.${group()}`)

  test('replaces the object and raises its version', async () => {
    const before = await create(path(), make({ name: newName(), labels: { a: '1' }, annotations: { b: '2' } }))
    const { name, resourceVersion } = before.metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion, labels: { c: '3' } }))
    expect(answer.status).toBe(200)
    const { annotations: _, ...kept } = before.metadata
    expect(answer.body.metadata).toEqual({
      ...kept,
      labels: { c: '3' },
      resourceVersion: answer.body.metadata.resourceVersion,
    })
    expect(BigInt(answer.body.metadata.resourceVersion) > BigInt(resourceVersion)).toBe(true)
    expect((await cluster.api.get(`${path()}/${name}`)).body).toEqual(answer.body)
  })

  test('of a version that is no longer the latest is a conflict', async () => {
    const { metadata } = await create(path(), make(newName()))
    const { name, resourceVersion } = metadata
    expectStatus(await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: 'b' } } }), 200)
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion }))
    const message = `Operation cannot be fulfilled on ${resource()} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, details(name))
  })

  test('that changes nothing keeps the version', async () => {
    const before = await create(path(), make({ name: newName(), labels: { a: '1' } }))
    const answer = await cluster.api.put(`${path()}/${before.metadata.name}`, before)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(before)
  })

  test('cannot give a version that is no number', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion: 'abc' }))
    expectFailure(answer, 500, '', 'strconv.ParseUint: parsing "abc": invalid syntax')
  })

  test('of another incarnation is a conflict', async () => {
    const { name, uid, resourceVersion } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion, uid: 'another' }))
    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ reason: 'Conflict', details: details(name) })
    const why = `Precondition failed: UID in precondition: another, UID in object meta: ${uid}`
    expect(answer.body['message']).toContain(`Operation cannot be fulfilled on ${resource()} "${name}": `)
    expect(answer.body['message']).toContain(why)
  })

  test('cannot set deletion times', async () => {
    const { name, resourceVersion } = (await create(path(), make(newName()))).metadata
    const metadata = {
      name,
      resourceVersion,
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 3,
    }
    const answer = await cluster.api.put(`${path()}/${name}`, make(metadata))
    expectInvalid(
      answer,
      { kind, group: group(), name },
      'metadata.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable',
      'metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable',
    )
  })

  test('cannot change when the object was created, nor its identity, and does not complain', async () => {
    const before = await create(path(), make(newName()))
    const { name, resourceVersion } = before.metadata
    const metadata = { name, resourceVersion, creationTimestamp: '2001-01-01T00:00:00Z', labels: { a: 'b' } }
    const { body } = await cluster.api.put(`${path()}/${name}`, make(metadata))
    const { uid, creationTimestamp } = before.metadata
    expect(body.metadata).toMatchObject({ name, uid, creationTimestamp, labels: { a: 'b' } })
  })

  test('is checked as a whole', async () => {
    const { name, resourceVersion } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion, labels: { a: 'b c' } }))
    const message = `metadata.labels: Invalid value: "b c": ${labelValue}`
    expectInvalid(answer, { kind, group: group(), name }, message)
  })

  test('needs the name of the path', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const other = await cluster.api.put(`${path()}/${name}`, make('other'))
    expectFailure(
      other,
      400,
      'BadRequest',
      `the name of the object (other) does not match the name on the URL (${name})`,
    )
    const none = await cluster.api.put(`${path()}/${name}`, make({}))
    const message = `the name of the object (${name} based on URL) was undeterminable: name must be provided`
    expectFailure(none, 400, 'BadRequest', message)
  })

  test('needs the namespace of the path', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, namespace: 'other' }))
    const message = 'the namespace of the provided object does not match the namespace sent on the request'
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test('does not create', async () => {
    const name = newName()
    for (const metadata of [{ name }, { name, resourceVersion: '5' }]) {
      const answer = await cluster.api.put(`${path()}/${name}`, make(metadata))
      expectFailure(answer, 404, 'NotFound', `${resource()} "${name}" not found`, details(name))
    }
  })

  test('may be a dry run', async () => {
    const before = await create(path(), make(newName()))
    const changed = { ...before, metadata: { ...before.metadata, labels: { dry: 'yes' } } }
    const query = { dryRun: 'All' }
    const answer = await cluster.api.put(`${path()}/${before.metadata.name}`, changed, { query })
    expect(answer.body).toEqual(changed)
    expect((await cluster.api.get(`${path()}/${before.metadata.name}`)).body).toEqual(before)
  })

  test('checks its options', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make(name), { query: { dryRun: 'Some' } })
    const message = 'dryRun: Unsupported value: ["Some"]: supported values: "All"'
    expectInvalid(answer, { kind: 'UpdateOptions', group: 'meta.k8s.io' }, message)
  })

  test('refuses unknown fields under Strict and warns otherwise', async () => {
    const { name, resourceVersion } = (await create(path(), make(newName()))).metadata
    const body = make({ name, resourceVersion }, { nonsense: 1 })
    const strict = await cluster.api.put(`${path()}/${name}`, body, { query: { fieldValidation: 'Strict' } })
    const message = `${kind} in version "v1" cannot be handled as a ${kind}: strict decoding error: unknown field "nonsense"`
    expectFailure(strict, 400, 'BadRequest', message)
    const warned = await cluster.api.put(`${path()}/${name}`, body)
    expect(warned.status).toBe(200)
    expect(warningsOf(warned)).toEqual(['unknown field "nonsense"'])
  })

  test('must come in a known format', async () => {
    const answer = await cluster.api.put(`${path()}/any`, make('any'), { contentType: 'text/plain' })
    expectFailure(answer, 415, 'UnsupportedMediaType', unknownFormat)
  })
})

describe('the version of an update', () => {
  test.each([undefined, '', '0'])('is not needed on a built-in kind: %j overwrites', async (resourceVersion) => {
    const { name } = (await create(configMaps(), configMap(newName(), { data: { a: '1' } }))).metadata
    const answer = await cluster.api.put(
      `${configMaps()}/${name}`,
      configMap({ name, resourceVersion }, { data: { a: '2' } }),
    )
    expect(answer.status).toBe(200)
    expect(answer.body['data']).toEqual({ a: '2' })
  })

  test.each([undefined, '', '0'])('is needed on a custom kind: %j is refused', async (resourceVersion) => {
    const { name } = (await create(widgets(), widget(newName()))).metadata
    const answer = await cluster.api.put(`${widgets()}/${name}`, widget({ name, resourceVersion }))
    const message = 'metadata.resourceVersion: Invalid value: 0: must be specified for an update'
    expectInvalid(answer, { kind: 'widgets', group: cluster.group, name }, message)
  })
})

describe('the generation', () => {
  test('of a custom object rises with anything but its metadata', async () => {
    const before = await create(widgets(), widget(newName(), { spec: { size: 1 } }))
    const path = `${widgets()}/${before.metadata.name}`
    const labelled = await cluster.api.put(path, { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } })
    expect(labelled.body.metadata.generation).toBe(1)
    const resized = await cluster.api.put(path, { ...labelled.body, spec: { size: 2 } })
    expect(resized.body.metadata.generation).toBe(2)
    const emptied = await cluster.api.put(path, { ...resized.body, spec: undefined })
    expect(emptied.body.metadata.generation).toBe(3)
  })

  test('cannot be set', async () => {
    const before = await create(widgets(), widget(newName(), { spec: { size: 1 } }))
    const path = `${widgets()}/${before.metadata.name}`
    const metadata = { ...before.metadata, generation: 7, labels: { a: 'b' } }
    const labelled = await cluster.api.put(path, { ...before, metadata })
    expect(labelled.body.metadata.generation).toBe(1)
  })

  test('is absent on a kind that has none', async () => {
    const before = await create(configMaps(), configMap(newName(), { data: { a: '1' } }))
    const { body } = await cluster.api.put(`${configMaps()}/${before.metadata.name}`, { ...before, data: { a: '2' } })
    expect(body.metadata).not.toHaveProperty('generation')
  })
})

test('the collection of a built-in kind cannot be replaced', async () => {
  expectFailure(await cluster.api.put(configMaps(), configMap('any')), 405, 'MethodNotAllowed', noSuchMethod, {})
})

test('text arrives as it was sent', async () => {
  const { name } = (await create(configMaps(), configMap(newName()))).metadata
  const data = { unicode: 'žluťoučký 🐎 \u0000 \u2028 <&>"\\', empty: '', lines: 'a\r\nb\n' }
  const answer = await cluster.api.put(`${configMaps()}/${name}`, configMap(name, { data }))
  expect(answer.body['data']).toEqual(data)
  expect((await cluster.api.get(`${configMaps()}/${name}`)).body['data']).toEqual(data)
})
