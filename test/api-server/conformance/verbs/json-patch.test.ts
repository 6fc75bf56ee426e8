/** Changing an object by a JSON patch (RFC 6902). */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { labelValue, modified } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')
const widget = (metadata: string | Tree, rest?: Tree) => object(`${cluster.group}/v1`, 'Widget', metadata, rest)

let count = 0

async function create(path: string, make: typeof configMap, metadata: Tree = {}, rest: Tree = {}): Promise<Body> {
  return expectStatus(await cluster.api.post(path, make({ name: `object-${++count}`, ...metadata }, rest)), 201)
}

/** The server gives no reason why a JSON patch does not apply. */
const rejected = 'the server rejected our request due to an error in our request'

beforeAll(() => cluster.install({ kind: 'Widget' }))

describe('JSON patch operations', () => {
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
    ['replace a missing key', [{ op: 'replace', path: '/spec/new', value: 1 }], { ...spec, new: 1 }],
    ['reach keys with slashes', [{ op: 'replace', path: '/spec/sla~1sh', value: 9 }], { ...spec, 'sla/sh': 9 }],
    ['reach keys with tildes', [{ op: 'replace', path: '/spec/til~0de', value: 9 }], { ...spec, 'til~de': 9 }],
    ['reach empty keys', [{ op: 'replace', path: '/spec/', value: 9 }], { ...spec, '': 9 }],
    ['copy a value', [{ op: 'copy', from: '/spec/deep', path: '/spec/copy' }], { ...spec, copy: spec.deep }],
    [
      'move a value',
      [{ op: 'move', from: '/spec/list', path: '/spec/moved' }],
      { ...omit(spec, 'list'), moved: spec.list },
    ],
    ['move within a list', [{ op: 'move', from: '/spec/list/0', path: '/spec/list/1' }], { ...spec, list: ['y', 'x'] }],
    [
      'have several operations',
      [
        { op: 'test', path: '/spec/deep/er', value: { est: true } },
        { op: 'add', path: '/spec/a', value: {} },
        { op: 'add', path: '/spec/a/b', value: 1 },
        { op: 'remove', path: '/spec/deep' },
      ],
      { ...omit(spec, 'deep'), a: { b: 1 } },
    ],
    ['test that a key is missing', [{ op: 'test', path: '/spec/none', value: null }], spec],
    ['have no operations', [], spec],
  ])('a JSON patch can %s', async (_, operations, expected) => {
    const { name } = (await create(widgets(), widget, { labels }, { spec })).metadata
    const answer = await cluster.api.jsonPatch(`${widgets()}/${name}`, operations)
    expect(answer.status).toBe(200)
    expect(answer.body.spec).toEqual(expected)
  })

  test.each<[string, unknown[]]>([
    ['succeed when a test finds another value', [{ op: 'test', path: '/spec/list', value: ['x'] }]],
    ['succeed when a test finds no value', [{ op: 'test', path: '/spec/none', value: 1 }]],
    ['add to a missing object', [{ op: 'add', path: '/spec/none/none', value: 1 }]],
    ['remove a missing key', [{ op: 'remove', path: '/spec/none' }]],
    ['remove from a missing object', [{ op: 'remove', path: '/spec/none/none' }]],
    ['insert beyond the end of a list', [{ op: 'add', path: '/spec/list/5', value: 1 }]],
    ['remove beyond the end of a list', [{ op: 'remove', path: '/spec/list/5' }]],
    ['replace beyond the end of a list', [{ op: 'replace', path: '/spec/list/5', value: 1 }]],
    ['use a malformed list index', [{ op: 'remove', path: '/spec/list/first' }]],
    ['move a missing value', [{ op: 'move', from: '/spec/none', path: '/spec/new' }]],
    ['have an unknown operation', [{ op: 'nonsense', path: '/spec/list', value: 1 }]],
    ['have an operation without op', [{ path: '/spec/list', value: 1 }]],
    ['have an operation without a path', [{ op: 'add', value: 1 }]],
    ['add a field to text', [{ op: 'add', path: '/spec/list/0/deeper', value: 1 }]],
    [
      'apply some operations when a later one fails',
      [
        { op: 'add', path: '/spec/new', value: 1 },
        { op: 'test', path: '/kind', value: 'Other' },
      ],
    ],
  ])('a JSON patch cannot %s', async (_, operations) => {
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

describe.each(kinds)('JSON patches of a $title kind', ({ path, make, group, plural, kind }) => {
  const details = (name: string) => ({ name, ...(group() === '' ? {} : { group: group() }), kind: plural })
  const resource = () => (group() === '' ? plural : `${plural}.${group()}`)

  test('a JSON patch changes the object', async () => {
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

  test('a JSON patch that changes nothing keeps the resourceVersion', async () => {
    const before = await create(path(), make, { labels: { a: '1' } })
    const operations = [{ op: 'add', path: '/metadata/labels/a', value: '1' }]
    const { body } = await cluster.api.jsonPatch(`${path()}/${before.metadata.name}`, operations)
    expect(body).toEqual(before)
  })

  test('a JSON patch that sets an old resourceVersion is a conflict', async () => {
    const { name, resourceVersion } = (await create(path(), make)).metadata
    expectStatus(await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: '1' } } }), 200)
    const operations = [{ op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }]
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, operations)
    const message = `Operation cannot be fulfilled on ${resource()} "${name}": ${modified}`
    expectFailure(answer, 409, 'Conflict', message, details(name))
  })

  test('the result of a JSON patch is validated', async () => {
    const { name } = (await create(path(), make)).metadata
    const operations = [{ op: 'add', path: '/metadata/labels', value: { a: 'b c' } }]
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, operations)
    const message = `metadata.labels: Invalid value: "b c": ${labelValue}`
    expectInvalid(answer, { kind, group: group(), name }, message)
  })

  test('a JSON patch warns about unknown fields', async () => {
    // The schema of the custom kind allows any field, but its metadata does not.
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
  ])('a JSON patch must be a list of objects, which %j is not', async (patch, message) => {
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.jsonPatch(`${path()}/${name}`, patch)
    expectFailure(answer, 400, 'BadRequest', `error decoding patch: ${message}`)
  })

  test('a JSON patch of a missing object is answered with 404', async () => {
    const answer = await cluster.api.jsonPatch(`${path()}/none`, [])
    expectFailure(answer, 404, 'NotFound', `${resource()} "none" not found`, details('none'))
  })
})

test('a JSON patch has at most ten thousand operations', async () => {
  const { name } = (await create(configMaps(), configMap)).metadata
  const operations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' }))
  const answer = await cluster.api.jsonPatch(`${configMaps()}/${name}`, operations)
  const message = 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001'
  expectFailure(answer, 413, 'RequestEntityTooLarge', message)
})
