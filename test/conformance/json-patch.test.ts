/** Changing an object by a JSON patch (RFC 6902). */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../support/expectations.ts'
import { labelValue, modified } from '../support/messages.ts'
import { configMap, object } from '../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

let count = 0

async function create(path: string, make: typeof configMap, metadata: Tree = {}, rest: Tree = {}): Promise<Body> {
  return expectStatus(await cluster.api.post(path, make({ name: `object-${++count}`, ...metadata }, rest)), 201)
}

/** Of the reasons why a patch cannot be applied, the server tells none. */
const rejected = 'the server rejected our request due to an error in our request'

beforeAll(() => cluster.install({ kind: 'Widget' }))

describe('operations', () => {
  const labels = { a: '1', b: '2' }
  const spec = { list: ['x', 'y'], 'sla/sh': 1, 'til~de': 2, '': 3, deep: { er: { est: true } } }

  test.each<[string, Tree[], Tree]>([
    ['add a key', [{ op: 'add', path: '/spec/new', value: { k: 1 } }], { ...spec, new: { k: 1 } }],
    ['add over a key', [{ op: 'add', path: '/spec/list', value: [] }], { ...spec, list: [] }],
    ['insert into a list', [{ op: 'add', path: '/spec/list/1', value: 'i' }], { ...spec, list: ['x', 'i', 'y'] }],
    [
      'insert at the end of a list',
      [{ op: 'add', path: '/spec/list/2', value: 'i' }],
      { ...spec, list: ['x', 'y', 'i'] },
    ],
    ['append to a list', [{ op: 'add', path: '/spec/list/-', value: 'i' }], { ...spec, list: ['x', 'y', 'i'] }],
    ['remove from a list', [{ op: 'remove', path: '/spec/list/0' }], { ...spec, list: ['y'] }],
    ['replace in a list', [{ op: 'replace', path: '/spec/list/0', value: 7 }], { ...spec, list: [7, 'y'] }],
    ['replace a key', [{ op: 'replace', path: '/spec/deep/er', value: null }], { ...spec, deep: { er: null } }],
    ['replace a key that is not there', [{ op: 'replace', path: '/spec/new', value: 1 }], { ...spec, new: 1 }],
    ['reach keys with slashes', [{ op: 'replace', path: '/spec/sla~1sh', value: 9 }], { ...spec, 'sla/sh': 9 }],
    ['reach keys with tildes', [{ op: 'replace', path: '/spec/til~0de', value: 9 }], { ...spec, 'til~de': 9 }],
    ['reach empty keys', [{ op: 'replace', path: '/spec/', value: 9 }], { ...spec, '': 9 }],
    ['copy', [{ op: 'copy', from: '/spec/deep', path: '/spec/copy' }], { ...spec, copy: spec.deep }],
    ['move', [{ op: 'move', from: '/spec/list', path: '/spec/moved' }], { ...omit(spec, 'list'), moved: spec.list }],
    ['move within a list', [{ op: 'move', from: '/spec/list/0', path: '/spec/list/1' }], { ...spec, list: ['y', 'x'] }],
    [
      'follow each other',
      [
        { op: 'test', path: '/spec/deep/er', value: { est: true } },
        { op: 'add', path: '/spec/a', value: {} },
        { op: 'add', path: '/spec/a/b', value: 1 },
        { op: 'remove', path: '/spec/deep' },
      ],
      { ...omit(spec, 'deep'), a: { b: 1 } },
    ],
    ['test for what is not there', [{ op: 'test', path: '/spec/none', value: null }], spec],
    ['are none', [], spec],
  ])('%s', async (_, operations, expected) => {
    const { name } = (await create(widgets(), widget, { labels }, { spec })).metadata
    const answer = await cluster.api.jsonPatch(`${widgets()}/${name}`, operations)
    expect(answer.status).toBe(200)
    expect(answer.body.spec).toEqual(expected)
  })

  test.each<[string, unknown[]]>([
    ['test another value', [{ op: 'test', path: '/spec/list', value: ['x'] }]],
    ['test a value that is not there', [{ op: 'test', path: '/spec/none', value: 1 }]],
    ['add to what is not there', [{ op: 'add', path: '/spec/none/none', value: 1 }]],
    ['remove a key that is not there', [{ op: 'remove', path: '/spec/none' }]],
    ['remove from what is not there', [{ op: 'remove', path: '/spec/none/none' }]],
    ['insert beyond a list', [{ op: 'add', path: '/spec/list/5', value: 1 }]],
    ['remove beyond a list', [{ op: 'remove', path: '/spec/list/5' }]],
    ['replace beyond a list', [{ op: 'replace', path: '/spec/list/5', value: 1 }]],
    ['name no place in a list', [{ op: 'remove', path: '/spec/list/first' }]],
    ['move what is not there', [{ op: 'move', from: '/spec/none', path: '/spec/new' }]],
    ['be unknown', [{ op: 'nonsense', path: '/spec/list', value: 1 }]],
    ['be missing', [{ path: '/spec/list', value: 1 }]],
    ['have no path', [{ op: 'add', value: 1 }]],
    ['go through text', [{ op: 'add', path: '/spec/list/0/deeper', value: 1 }]],
    [
      'fail after others',
      [
        { op: 'add', path: '/spec/new', value: 1 },
        { op: 'test', path: '/kind', value: 'Other' },
      ],
    ],
  ])('cannot %s', async (_, operations) => {
    const before = await create(widgets(), widget, { labels }, { spec })
    const answer = await cluster.api.jsonPatch(`${widgets()}/${before.metadata.name}`, operations)
    expectFailure(answer, 422, 'Invalid', rejected, {})
    expect((await cluster.api.get(`${widgets()}/${before.metadata.name}`)).body).toEqual(before)
  })
})

function omit<T extends Tree>(tree: T, key: keyof T): Tree {
  const { [key]: _, ...rest } = tree
  return rest
}

const kinds = [
  { title: 'built-in', path: configMaps, make: configMap, group: () => '', plural: 'configmaps', kind: 'ConfigMap' },
  { title: 'custom', path: widgets, make: widget, group: () => cluster.group, plural: 'widgets', kind: 'Widget' },
]

describe.each(kinds)('a JSON patch of a $title kind', ({ path, make, group, plural, kind }) => {
  const details = (name: string) => ({ name, ...(group() === '' ? {} : { group: group() }), kind: plural })
  const resource = () => (group() === '' ? plural : `${plural}.${group()}`)

  test('changes the object', async () => {
    const before = await create(path(), make, { labels: { a: '1' } })
    const operations = [
      { op: 'test', path: '/metadata/resourceVersion', value: before.metadata.resourceVersion },
      { op: 'replace', path: '/metadata/labels/a', value: '2' },
      { op: 'add', path: '/metadata/annotations', value: { 'example.com/note': 'x' } },
    ]
    const { body } = await cluster.api.jsonPatch(`${path()}/${before.metadata.name}`, operations)
    expect(body.metadata).toMatchObject({ labels: { a: '2' }, annotations: { 'example.com/note': 'x' } })
    expect(BigInt(body.metadata.resourceVersion) > BigInt(before.metadata.resourceVersion)).toBe(true)
  })

  test('that changes nothing keeps the version', async () => {
    const before = await create(path(), make, { labels: { a: '1' } })
    const operations = [{ op: 'add', path: '/metadata/labels/a', value: '1' }]
    const { body } = await cluster.api.jsonPatch(`${path()}/${before.metadata.name}`, operations)
    expect(body).toEqual(before)
  })

  test('that puts in an old version is a conflict', async () => {
    const { name, resourceVersion } = (await create(path(), make)).metadata
    expectStatus(await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: '1' } } }), 200)
    const operations = [{ op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }]
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, operations)
    const message = `Operation cannot be fulfilled on ${resource()} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, details(name))
  })

  test('is checked in its result', async () => {
    const { name } = (await create(path(), make)).metadata
    const operations = [{ op: 'add', path: '/metadata/labels', value: { a: 'b c' } }]
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, operations)
    const message = `metadata.labels: Invalid value: "b c": ${labelValue}`
    expectInvalid(answer, { kind, group: group(), name }, message)
  })

  test('warns about unknown fields', async () => {
    // Anything may be in the custom kind; but in its metadata nothing.
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, [
      { op: 'add', path: '/metadata/nonsense', value: 1 },
    ])
    expect(answer.status).toBe(200)
    expect(warningsOf(answer)).toEqual(['unknown field "metadata.nonsense"'])
  })

  test.each([
    ['{}', 'json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'],
    ['[1]', 'json: cannot unmarshal number into Go value of type handlers.jsonPatchOp'],
    ['[', 'unexpected end of JSON input'],
    ['', 'unexpected end of JSON input'],
  ])('is a list of objects in JSON, which %j is not', async (patch, message) => {
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, patch)
    expectFailure(answer, 400, 'BadRequest', `error decoding patch: ${message}`)
  })

  test('needs an object', async () => {
    const answer = await cluster.api.jsonPatch(`${path()}/none`, [])
    expectFailure(answer, 404, 'NotFound', `${resource()} "none" not found`, details('none'))
  })
})

test('has at most ten thousand operations', async () => {
  const { name } = (await create(configMaps(), configMap)).metadata
  const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }))
  const answer = await cluster.api.jsonPatch(`${configMaps()}/${name}`, operations)
  const message = 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001'
  expectFailure(answer, 413, 'RequestEntityTooLarge', message)
})
