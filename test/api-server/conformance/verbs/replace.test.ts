/** Replacing an object: conflicts, immutable metadata, and updates without a change. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { labelValue, modified, noSuchMethod, unknownFormat } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

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

describe.each(kinds)('updates of a $title kind', ({ path, make, group, plural, kind }) => {
  const details = (name: string) => ({ name, ...(group() === '' ? {} : { group: group() }), kind: plural })
  const resource = () => (group() === '' ? plural : `${plural}.${group()}`)

  test('an update replaces the object and raises its resourceVersion', async () => {
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

  test('an update with an old resourceVersion is a conflict', async () => {
    const { metadata } = await create(path(), make(newName()))
    const { name, resourceVersion } = metadata
    expectStatus(await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: 'b' } } }), 200)
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion }))
    const message = `Operation cannot be fulfilled on ${resource()} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, details(name))
  })

  test('an update that changes nothing keeps the resourceVersion', async () => {
    const before = await create(path(), make({ name: newName(), labels: { a: '1' } }))
    const answer = await cluster.api.put(`${path()}/${before.metadata.name}`, before)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(before)
  })

  test('an update with a malformed resourceVersion is refused', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion: 'abc' }))
    expectFailure(answer, 500, '', 'strconv.ParseUint: parsing "abc": invalid syntax')
  })

  test('an update with another uid is a conflict', async () => {
    const { name, uid, resourceVersion } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion, uid: 'another' }))
    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ reason: 'Conflict', details: details(name) })
    const why = `Precondition failed: UID in precondition: another, UID in object meta: ${uid}`
    expect(answer.body['message']).toContain(`Operation cannot be fulfilled on ${resource()} "${name}": `)
    expect(answer.body['message']).toContain(why)
  })

  test('an update cannot set deletionTimestamp', async () => {
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

  test('an update ignores changes of creationTimestamp and uid', async () => {
    const before = await create(path(), make(newName()))
    const { name, resourceVersion } = before.metadata
    const metadata = { name, resourceVersion, creationTimestamp: '2001-01-01T00:00:00Z', labels: { a: 'b' } }
    const { body } = await cluster.api.put(`${path()}/${name}`, make(metadata))
    const { uid, creationTimestamp } = before.metadata
    expect(body.metadata).toMatchObject({ name, uid, creationTimestamp, labels: { a: 'b' } })
  })

  test('an update is validated as a whole', async () => {
    const { name, resourceVersion } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, resourceVersion, labels: { a: 'b c' } }))
    const message = `metadata.labels: Invalid value: "b c": ${labelValue}`
    expectInvalid(answer, { kind, group: group(), name }, message)
  })

  test('an update needs the name of the path', async () => {
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

  test('an update needs the namespace of the path', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make({ name, namespace: 'other' }))
    const message = 'the namespace of the provided object does not match the namespace sent on the request'
    expectFailure(answer, 400, 'BadRequest', message)
  })

  test('an update of a missing object does not create it', async () => {
    const name = newName()
    for (const metadata of [{ name }, { name, resourceVersion: '5' }]) {
      const answer = await cluster.api.put(`${path()}/${name}`, make(metadata))
      expectFailure(answer, 404, 'NotFound', `${resource()} "${name}" not found`, details(name))
    }
  })

  test('a dry run of an update stores nothing', async () => {
    const before = await create(path(), make(newName()))
    const changed = { ...before, metadata: { ...before.metadata, labels: { dry: 'yes' } } }
    const query = { dryRun: 'All' }
    const answer = await cluster.api.put(`${path()}/${before.metadata.name}`, changed, { query })
    expect(answer.body).toEqual(changed)
    expect((await cluster.api.get(`${path()}/${before.metadata.name}`)).body).toEqual(before)
  })

  test('an update validates its query options', async () => {
    const { name } = (await create(path(), make(newName()))).metadata
    const answer = await cluster.api.put(`${path()}/${name}`, make(name), { query: { dryRun: 'Some' } })
    const message = 'dryRun: Unsupported value: ["Some"]: supported values: "All"'
    expectInvalid(answer, { kind: 'UpdateOptions', group: 'meta.k8s.io' }, message)
  })

  test('an update refuses unknown fields with fieldValidation Strict, and warns otherwise', async () => {
    const { name, resourceVersion } = (await create(path(), make(newName()))).metadata
    const body = make({ name, resourceVersion }, { nonsense: 1 })
    const strict = await cluster.api.put(`${path()}/${name}`, body, { query: { fieldValidation: 'Strict' } })
    const message = `${kind} in version "v1" cannot be handled as a ${kind}: strict decoding error: unknown field "nonsense"`
    expectFailure(strict, 400, 'BadRequest', message)
    const warned = await cluster.api.put(`${path()}/${name}`, body)
    expect(warned.status).toBe(200)
    expect(warningsOf(warned)).toEqual(['unknown field "nonsense"'])
  })

  test('an update in an unknown format is answered with 415', async () => {
    const answer = await cluster.api.put(`${path()}/any`, make('any'), { contentType: 'text/plain' })
    expectFailure(answer, 415, 'UnsupportedMediaType', unknownFormat)
  })
})

describe('resourceVersion of updates', () => {
  test.each([undefined, '', '0'])(
    'an update of a built-in kind with the resourceVersion %j overwrites the object',
    async (resourceVersion) => {
      const { name } = (await create(configMaps(), configMap(newName(), { data: { a: '1' } }))).metadata
      const answer = await cluster.api.put(
        `${configMaps()}/${name}`,
        configMap({ name, resourceVersion }, { data: { a: '2' } }),
      )
      expect(answer.status).toBe(200)
      expect(answer.body['data']).toEqual({ a: '2' })
    },
  )

  test.each([undefined, '', '0'])(
    'an update of a custom kind with the resourceVersion %j is refused',
    async (resourceVersion) => {
      const { name } = (await create(widgets(), widget(newName()))).metadata
      const answer = await cluster.api.put(`${widgets()}/${name}`, widget({ name, resourceVersion }))
      const message = 'metadata.resourceVersion: Invalid value: 0: must be specified for an update'
      expectInvalid(answer, { kind: 'widgets', group: cluster.group, name }, message)
    },
  )
})

describe('generations', () => {
  test('the generation of a custom object rises with any change outside of its metadata', async () => {
    const before = await create(widgets(), widget(newName(), { spec: { size: 1 } }))
    const path = `${widgets()}/${before.metadata.name}`
    const labelled = await cluster.api.put(path, { ...before, metadata: { ...before.metadata, labels: { a: 'b' } } })
    expect(labelled.body.metadata.generation).toBe(1)
    const resized = await cluster.api.put(path, { ...labelled.body, spec: { size: 2 } })
    expect(resized.body.metadata.generation).toBe(2)
    const emptied = await cluster.api.put(path, { ...resized.body, spec: undefined })
    expect(emptied.body.metadata.generation).toBe(3)
  })

  test('an update cannot set the generation', async () => {
    const before = await create(widgets(), widget(newName(), { spec: { size: 1 } }))
    const path = `${widgets()}/${before.metadata.name}`
    const metadata = { ...before.metadata, generation: 7, labels: { a: 'b' } }
    const labelled = await cluster.api.put(path, { ...before, metadata })
    expect(labelled.body.metadata.generation).toBe(1)
  })

  test('a ConfigMap has no generation', async () => {
    const before = await create(configMaps(), configMap(newName(), { data: { a: '1' } }))
    const { body } = await cluster.api.put(`${configMaps()}/${before.metadata.name}`, { ...before, data: { a: '2' } })
    expect(body.metadata).not.toHaveProperty('generation')
  })
})

test('the API server answers 405 to a PUT of a built-in collection', async () => {
  expectFailure(await cluster.api.put(configMaps(), configMap('any')), 405, 'MethodNotAllowed', noSuchMethod, {})
})

test('an update stores text unchanged', async () => {
  const { name } = (await create(configMaps(), configMap(newName()))).metadata
  const data = { unicode: 'žluťoučký 🐎 \u0000 \u2028 <&>"\\', empty: '', lines: 'a\r\nb\n' }
  const answer = await cluster.api.put(`${configMaps()}/${name}`, configMap(name, { data }))
  expect(answer.body['data']).toEqual(data)
  expect((await cluster.api.get(`${configMaps()}/${name}`)).body['data']).toEqual(data)
})
