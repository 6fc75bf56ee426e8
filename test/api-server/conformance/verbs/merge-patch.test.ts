/** Changing an object by a merge patch (RFC 7386), and the common behaviour of all patches. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Body, Tree } from '../../../support/answers.ts'
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

/** A patch with an undecodable result: the message quotes the result, in an undefined order of keys. */
function expectUnreadable(answer: Answer, why: string): void {
  expect(answer.status).toBe(422)
  expect(answer.body['reason']).toBe('Invalid')
  const message = answer.body['message'] as string
  expect(message.startsWith(' "" is invalid: patch: Invalid value: "{')).toBe(true)
  expect(message.endsWith(`}": ${why}`)).toBe(true)
  expect(answer.body['details']).toEqual({
    causes: [{ reason: 'FieldValueInvalid', message: message.slice(' "" is invalid: patch: '.length), field: 'patch' }],
  })
}

beforeAll(async () => {
  const spec = {
    type: 'object',
    properties: {
      size: { type: 'integer' },
      colour: { type: 'string', default: 'red' },
      tags: { type: 'array', items: { type: 'string' } },
      nested: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  }
  await cluster.install({ kind: 'Widget', schema: { type: 'object', properties: { spec } } })
})

const kinds = [
  { title: 'built-in', path: configMaps, make: configMap, group: () => '', plural: 'configmaps', kind: 'ConfigMap' },
  { title: 'custom', path: widgets, make: widget, group: () => cluster.group, plural: 'widgets', kind: 'Widget' },
]

describe.each(kinds)('merge patches of a $title kind', ({ title, path, make, group, plural, kind }) => {
  const details = (name: string) => ({ name, ...(group() === '' ? {} : { group: group() }), kind: plural })
  const resource = () => (group() === '' ? plural : `${plural}.${group()}`)

  test('a merge patch adds, replaces and removes fields', async () => {
    const before = await create(path(), make, { labels: { keep: '1', change: '1', drop: '1' } })
    const labels = { change: '2', drop: null, add: '1' }
    const answer = await cluster.api.mergePatch(`${path()}/${before.metadata.name}`, { metadata: { labels } })
    expect(answer.status).toBe(200)
    expect(answer.body.metadata.labels).toEqual({ keep: '1', change: '2', add: '1' })
    expect(BigInt(answer.body.metadata.resourceVersion) > BigInt(before.metadata.resourceVersion)).toBe(true)
  })

  test.each(['{}', '{"metadata":{"labels":{"none":null}}}'])(
    'a merge patch that changes nothing keeps the resourceVersion: %s',
    async (patch) => {
      const before = await create(path(), make, { labels: { a: 'b' } })
      const answer = await cluster.api.mergePatch(`${path()}/${before.metadata.name}`, patch)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual(before)
    },
  )

  test('a merge patch replaces lists as a whole', async () => {
    const { name } = (await create(path(), make, { finalizers: ['example.com/a', 'example.com/b'] })).metadata
    const finalizers = ['example.com/c']
    const { body } = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { finalizers } })
    expect(body.metadata.finalizers).toEqual(finalizers)
    expectStatus(await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { finalizers: null } }), 200)
  })

  test('a merge patch of a missing object is answered with 404', async () => {
    const answer = await cluster.api.mergePatch(`${path()}/none`, {})
    expectFailure(answer, 404, 'NotFound', `${resource()} "none" not found`, details('none'))
  })

  test('a merge patch with a resourceVersion applies to that version only', async () => {
    const { name, resourceVersion } = (await create(path(), make)).metadata
    const first = await cluster.api.mergePatch(`${path()}/${name}`, {
      metadata: { resourceVersion, labels: { a: '1' } },
    })
    expect(first.status).toBe(200)
    const second = await cluster.api.mergePatch(`${path()}/${name}`, {
      metadata: { resourceVersion, labels: { a: '2' } },
    })
    const message = `Operation cannot be fulfilled on ${resource()} "${name}": ${modified}`
    expectFailure(second, 409, 'Conflict', message, details(name))
  })

  test('a merge patch with a uid applies to that object only', async () => {
    const { name, uid } = (await create(path(), make)).metadata
    const same = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { uid, labels: { a: '1' } } })
    expect(same.status).toBe(200)
    const other = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { uid: 'other' } })
    const message = 'metadata.uid: Invalid value: "other": field is immutable'
    expectInvalid(other, { kind, group: group(), name }, message)
  })

  test('a merge patch cannot change the name', async () => {
    const { name } = (await create(path(), make)).metadata
    const renamed = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { name: 'other' } })
    const message = `the name of the object (other) does not match the name on the URL (${name})`
    expectFailure(renamed, 400, 'BadRequest', message)
    const moved = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { namespace: 'other' } })
    const mismatch = 'the namespace of the provided object does not match the namespace sent on the request'
    expectFailure(moved, 400, 'BadRequest', mismatch)
  })

  test('a merge patch cannot remove the name', async () => {
    const { name } = (await create(path(), make)).metadata
    const message = `the name of the object (${name} based on URL) was undeterminable: name must be provided`
    for (const patch of [{ metadata: { name: null } }, { metadata: null }]) {
      expectFailure(await cluster.api.mergePatch(`${path()}/${name}`, patch), 400, 'BadRequest', message)
    }
  })

  test('a merge patch cannot change metadata that only the server sets', async () => {
    const before = await create(path(), make)
    const metadata = { creationTimestamp: null, labels: { a: 'b' } }
    const { body } = await cluster.api.mergePatch(`${path()}/${before.metadata.name}`, { metadata })
    const { resourceVersion } = body.metadata
    expect(body.metadata).toEqual({ ...before.metadata, labels: { a: 'b' }, resourceVersion })
  })

  test('the result of a merge patch is validated', async () => {
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: 'b c' } } })
    const message = `metadata.labels: Invalid value: "b c": ${labelValue}`
    expectInvalid(answer, { kind, group: group(), name }, message)
  })

  test('a merge patch with an undecodable result is refused', async () => {
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.mergePatch(`${path()}/${name}`, { metadata: { labels: { a: 5 } } })
    const field = title === 'built-in' ? 'ObjectMeta.metadata.labels' : 'ObjectMeta.labels'
    expectUnreadable(answer, `json: cannot unmarshal number into Go struct field ${field} of type string`)
  })

  test('a dry run of a merge patch stores nothing', async () => {
    const before = await create(path(), make)
    const patch = { metadata: { labels: { dry: 'yes' } } }
    const answer = await cluster.api.mergePatch(`${path()}/${before.metadata.name}`, patch, {
      query: { dryRun: 'All' },
    })
    expect(answer.body).toEqual({ ...before, metadata: { ...before.metadata, labels: { dry: 'yes' } } })
    expect((await cluster.api.get(`${path()}/${before.metadata.name}`)).body).toEqual(before)
  })

  test('a merge patch warns about unknown fields, and refuses them with fieldValidation Strict', async () => {
    const { name } = (await create(path(), make)).metadata
    const warned = await cluster.api.mergePatch(`${path()}/${name}`, { nonsense: 1 })
    expect(warned.status).toBe(200)
    expect(warningsOf(warned)).toEqual(['unknown field "nonsense"'])
    const query = { fieldValidation: 'Strict' }
    const strict = await cluster.api.mergePatch(`${path()}/${name}`, { nonsense: 1 }, { query })
    expectUnreadable(strict, 'strict decoding error: unknown field "nonsense"')
  })

  test.each([
    ['{"a"', 'error decoding patch: unexpected end of JSON input'],
    ['', 'error decoding patch: unexpected end of JSON input'],
    ['[]', 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['"a"', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
    ['7', 'error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}'],
  ])('a merge patch must be a JSON object, which %j is not', async (patch, message) => {
    const { name } = (await create(path(), make)).metadata
    expectFailure(await cluster.api.mergePatch(`${path()}/${name}`, patch), 400, 'BadRequest', message)
  })

  test.each([
    ['force', 'true', 'force: Forbidden: may not be specified for non-apply patch'],
    ['dryRun', 'Some', 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
  ])('a merge patch validates the query option %s', async (option, value, message) => {
    const { name } = (await create(path(), make)).metadata
    const answer = await cluster.api.mergePatch(`${path()}/${name}`, {}, { query: { [option]: value } })
    expectInvalid(answer, { kind: 'PatchOptions', group: 'meta.k8s.io' }, message)
  })
})

describe('merge patches of custom objects', () => {
  test('a merge patch of a custom object raises the generation with the spec only', async () => {
    const { name } = (await create(widgets(), widget, {}, { spec: { size: 1 } })).metadata
    const labelled = await cluster.api.mergePatch(`${widgets()}/${name}`, { metadata: { annotations: { a: 'b' } } })
    expect(labelled.body.metadata.generation).toBe(1)
    const resized = await cluster.api.mergePatch(`${widgets()}/${name}`, { spec: { size: 2 } })
    expect(resized.body.metadata.generation).toBe(2)
  })

  test('a merge patch of a custom object gets defaults for the fields that it removes', async () => {
    const { name } = (await create(widgets(), widget, {}, { spec: { colour: 'blue' } })).metadata
    const { body } = await cluster.api.mergePatch(`${widgets()}/${name}`, { spec: { colour: null } })
    expect(body.spec).toEqual({ colour: 'red' })
  })

  test('a merge patch merges objects at any depth, and adds new ones without their nulls', async () => {
    const { name } = (await create(widgets(), widget, {}, { spec: { nested: { a: { b: 1, c: [1, 2] } } } })).metadata
    const nested = { a: { b: null, c: [3], d: { e: 1, f: null } }, g: 'text' }
    const { body } = await cluster.api.mergePatch(`${widgets()}/${name}`, { spec: { nested } })
    expect(body.spec['nested']).toEqual({ a: { c: [3], d: { e: 1 } }, g: 'text' })
  })

  test('a merge patch cannot change the kind of a custom object', async () => {
    const { name } = (await create(widgets(), widget)).metadata
    const kind = await cluster.api.mergePatch(`${widgets()}/${name}`, { kind: 'Other' })
    expectInvalid(kind, { kind: 'Other', group: cluster.group, name }, 'kind: Invalid value: "Other": must be Widget')
    const version = await cluster.api.mergePatch(`${widgets()}/${name}`, { apiVersion: 'v9' })
    const message = `apiVersion: Invalid value: "v9": must be ${cluster.group}/v1`
    expectInvalid(version, { kind: 'Widget', name }, message)
  })

  test('a merge patch cannot remove the resourceVersion of a custom object', async () => {
    const { name } = (await create(widgets(), widget)).metadata
    const answer = await cluster.api.mergePatch(`${widgets()}/${name}`, { metadata: { resourceVersion: null } })
    const message = 'metadata.resourceVersion: Invalid value: 0: must be specified for an update'
    expectInvalid(answer, { kind: 'widgets', group: cluster.group, name }, message)
  })

  test('a merge patch of a custom object is refused with the message of the schema', async () => {
    const { name } = (await create(widgets(), widget)).metadata
    const answer = await cluster.api.mergePatch(`${widgets()}/${name}`, { spec: { tags: 'text' } })
    const message = 'spec.tags: Invalid value: "string": spec.tags in body must be of type array: "string"'
    const subject = { kind: 'Widget', group: cluster.group, name }
    expectInvalid(answer, subject, ['FieldValueTypeInvalid', message])
  })
})

describe('patch types', () => {
  const known = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'

  test.each(['application/json', 'text/plain', 'application/strategic-merge-patch+json'])(
    'a patch of a custom kind cannot have the content type %s',
    async (contentType) => {
      const { name } = (await create(widgets(), widget)).metadata
      const answer = await cluster.api.request('PATCH', `${widgets()}/${name}`, { body: {}, contentType })
      const message = `the body of the request was in an unknown format - accepted media types include: ${known}`
      expectFailure(answer, 415, 'UnsupportedMediaType', message)
    },
  )

  test.each(['application/json', 'text/plain'])(
    'a patch of a built-in kind cannot have the content type %s',
    async (contentType) => {
      const { name } = (await create(configMaps(), configMap)).metadata
      const answer = await cluster.api.request('PATCH', `${configMaps()}/${name}`, { body: {}, contentType })
      expectFailure(answer, 415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
    },
  )

  test('the content type of a patch may have a charset', async () => {
    const { name } = (await create(configMaps(), configMap)).metadata
    const contentType = 'application/merge-patch+json; charset=utf-8'
    const answer = await cluster.api.request('PATCH', `${configMaps()}/${name}`, {
      body: { data: { a: 'b' } },
      contentType,
    })
    expect(answer.status).toBe(200)
    expect(answer.body['data']).toEqual({ a: 'b' })
  })
})

test('concurrent patches are all applied', async () => {
  const { name } = (await create(configMaps(), configMap)).metadata
  const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`)
  const answers = await Promise.all(
    keys.map((key) => cluster.api.mergePatch(`${configMaps()}/${name}`, { data: { [key]: 'x' } })),
  )
  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200))
  const { body } = await cluster.api.get(`${configMaps()}/${name}`)
  expect(Object.keys(body['data'] as Tree).sort()).toEqual(keys)
})
