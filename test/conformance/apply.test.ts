/** Server-side apply: what a configuration makes of an object, and whom it would get in the way of. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../support/answers.ts'
import { useCluster } from '../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../support/expectations.ts'
import { modified } from '../support/messages.ts'
import { configMap } from '../support/objects.ts'
import { type ApplyOptions, apply, entriesOf, ownersOf } from '../support/owners.ts'

const cluster = useCluster()
let count = 0
const fresh = () => `object-${++count}`
const pathOf = (name: string) => cluster.core(`configmaps/${name}`)

function applyData(name: string, data: Tree | undefined, options?: ApplyOptions, metadata: Tree = {}): Promise<Answer> {
  return apply(cluster.api, pathOf(name), configMap({ name, ...metadata }, data === undefined ? {} : { data }), options)
}

describe('an object that is not there', () => {
  test('is created, and belongs to the applier', async () => {
    const answer = await applyData(fresh(), { a: '1' }, { as: 'me' })
    expect(answer.status).toBe(201)
    expect(answer.body['data']).toEqual({ a: '1' })
    const [entry] = entriesOf(answer)
    expect(entry).toMatchObject({ manager: 'me', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' })
    expect(entry!.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(entry!.fieldsV1).toEqual({ 'f:data': { 'f:a': {} } })
  })

  test('is not created for a dry run', async () => {
    const name = fresh()
    expect((await applyData(name, { a: '1' }, { query: 'dryRun=All' })).status).toBe(201)
    expect((await cluster.api.get(pathOf(name))).status).toBe(404)
  })

  test('has no uid to be named by', async () => {
    const name = fresh()
    const why = 'uid mismatch: the provided object specified uid abc, and no existing object was found'
    const message = `Operation cannot be fulfilled on configmaps "${name}": ${why}`
    const answer = await applyData(name, {}, {}, { uid: 'abc' })
    expectFailure(answer, 409, 'Conflict', message, { name, kind: 'configmaps' })
  })

  test('does not mind a version', async () => {
    expect((await applyData(fresh(), { a: '1' }, {}, { resourceVersion: '1' })).status).toBe(201)
  })
})

describe('an object that is there', () => {
  test('keeps what the configuration does not mention', async () => {
    const name = fresh()
    await applyData(name, { a: '1' }, { as: 'one' })
    const answer = await applyData(name, { b: '2' }, { as: 'two' })
    expect(answer.status).toBe(200)
    expect(answer.body['data']).toEqual({ a: '1', b: '2' })
    expect(ownersOf(answer)).toEqual({
      'one Apply': { 'f:data': { 'f:a': {} } },
      'two Apply': { 'f:data': { 'f:b': {} } },
    })
  })

  test('loses what its applier does not mention any more', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '2' })
    const answer = await applyData(name, { b: '2' })
    expect(answer.body['data']).toEqual({ b: '2' })
    expect(ownersOf(answer)).toEqual({ 'applier Apply': { 'f:data': { 'f:b': {} } } })
  })

  test('keeps what somebody else owns, too', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '2' }, { as: 'one' })
    await applyData(name, { a: '1' }, { as: 'two' })
    const answer = await applyData(name, undefined, { as: 'one' })
    expect(answer.body['data']).toEqual({ a: '1' })
    expect(ownersOf(answer)).toEqual({ 'two Apply': { 'f:data': { 'f:a': {} } } })
  })

  test('stays as it is where the configuration says what is there, time and version included', async () => {
    const name = fresh()
    const before = await applyData(name, { a: '1' })
    const after = await applyData(name, { a: '1' })
    expect(after.text).toBe(before.text)
  })

  test('is written where somebody joins in owning what is there; nobody knows since when', async () => {
    const name = fresh()
    const before = await applyData(name, { a: '1' }, { as: 'one' })
    const after = await applyData(name, { a: '1' }, { as: 'two' })
    expect(after.body.metadata.resourceVersion).not.toBe(before.body.metadata.resourceVersion)
    expect(entriesOf(after).map(({ manager, time }) => [manager, time !== undefined])).toEqual([
      ['two', false],
      ['one', true],
    ])
  })

  test('is not changed by another version or uid than its own', async () => {
    const name = fresh()
    await applyData(name, { a: '1' })
    const stale = await applyData(name, { a: '2' }, {}, { resourceVersion: '1' })
    expectFailure(stale, 409, 'Conflict', `Operation cannot be fulfilled on configmaps "${name}": ${modified}`, {
      name,
      kind: 'configmaps',
    })
    const foreign = await applyData(name, { a: '2' }, {}, { uid: 'abc' })
    expectInvalid(foreign, { kind: 'ConfigMap', name }, 'metadata.uid: Invalid value: "abc": field is immutable')
  })

  test('belongs to whoever was before, where that was never noted down', async () => {
    const name = fresh()
    await cluster.api.post(cluster.core('configmaps'), configMap(name, { data: { a: '1', b: '1' } }))
    await cluster.api.mergePatch(pathOf(name), { metadata: { managedFields: [{}] } })
    const answer = await applyData(name, { a: '1' })
    expect(ownersOf(answer)).toEqual({
      'applier Apply': { 'f:data': { 'f:a': {} } },
      'before-first-apply Update': { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
    })
  })
})

describe('a conflict', () => {
  const cause = (manager: string, field: string) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field,
  })

  test('names the other applier and the field', async () => {
    const name = fresh()
    await applyData(name, { a: '1' }, { as: 'one' })
    const message = 'Apply failed with 1 conflict: conflict with "one": .data.a'
    const answer = await applyData(name, { a: '2' }, { as: 'two' })
    expectFailure(answer, 409, 'Conflict', message, { causes: [cause('"one"', '.data.a')] })
  })

  test('names an updater by the version that it wrote', async () => {
    const name = fresh()
    const query = { fieldManager: 'one' }
    await cluster.api.post(cluster.core('configmaps'), configMap(name, { data: { a: '1' } }), { query })
    const message = 'Apply failed with 1 conflict: conflict with "one" using v1: .data.a'
    const answer = await applyData(name, { a: '2' }, { as: 'two' })
    expectFailure(answer, 409, 'Conflict', message, { causes: [cause('"one" using v1', '.data.a')] })
  })

  test('names all managers and fields', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '1' }, { as: 'one' })
    await cluster.api.mergePatch(pathOf(name), { data: { c: '1' } }, { query: { fieldManager: 'two' } })
    const answer = await applyData(name, { a: '2', b: '2', c: '2' }, { as: 'three' })
    const message =
      'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\n- .data.b\nconflicts with "two" using v1:\n- .data.c'
    expect(answer.body['message']).toBe(message)
    const { causes } = answer.body['details'] as { causes: Tree[] }
    expect(causes).toHaveLength(3)
    expect(causes).toEqual(
      expect.arrayContaining([
        cause('"one"', '.data.a'),
        cause('"one"', '.data.b'),
        cause('"two" using v1', '.data.c'),
      ]),
    )
  })

  test('is none where the value is the same', async () => {
    const name = fresh()
    await applyData(name, { a: '1' }, { as: 'one' })
    const answer = await applyData(name, { a: '1' }, { as: 'two' })
    expect(Object.keys(ownersOf(answer)).sort()).toEqual(['one Apply', 'two Apply'])
  })

  test('can be forced: then the field is the applier’s alone', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '1' }, { as: 'one' })
    const answer = await applyData(name, { a: '2' }, { as: 'two', force: true })
    expect(answer.body['data']).toEqual({ a: '2', b: '1' })
    expect(ownersOf(answer)).toEqual({
      'one Apply': { 'f:data': { 'f:b': {} } },
      'two Apply': { 'f:data': { 'f:a': {} } },
    })
  })
})

describe('a configuration', () => {
  const send = (body: unknown, options?: ApplyOptions) => apply(cluster.api, pathOf('never'), body, options)

  test('needs somebody in whose name it is applied', async () => {
    const contentType = 'application/apply-patch+yaml'
    const answer = await cluster.api.request('PATCH', pathOf('never'), { body: configMap('never'), contentType })
    const subject = { kind: 'PatchOptions', group: 'meta.k8s.io' }
    expectInvalid(answer, subject, 'fieldManager: Required value: is required for apply patch')
  })

  test('may be YAML; of a key that is there twice, the last one counts', async () => {
    const name = fresh()
    const text = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n  a: "2"\n`
    const problem = 'line 7: key "a" already set in map'
    const refused = await apply(cluster.api, pathOf(name), text, { query: 'fieldValidation=Strict' })
    const why = `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${problem}`
    expectFailure(refused, 400, 'BadRequest', why)
    const answer = await apply(cluster.api, pathOf(name), text)
    expect(expectStatus(answer, 201)['data']).toEqual({ a: '2' })
    expect(warningsOf(answer)).toEqual([problem])
    expect(warningsOf(await apply(cluster.api, pathOf(name), text, { query: 'fieldValidation=Ignore' }))).toEqual([])
  })

  test.each([
    ['', 'invalid object type: /, Kind='],
    [{ ...configMap('never'), kind: 'Pod' }, 'invalid object type: /v1, Kind=Pod'],
    [{ ...configMap('never'), apiVersion: 'v2' }, 'invalid object type: /v2, Kind=ConfigMap'],
    [configMap({ name: 'never', managedFields: [] }), 'metadata.managedFields must be nil'],
    [configMap('other'), 'the name of the object (other) does not match the name on the URL (never)'],
    [configMap({}), 'the name of the object (never based on URL) was undeterminable: name must be provided'],
    [
      configMap({ name: 'never', namespace: 'other' }),
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'text',
      'error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}',
    ],
  ])('is refused as a bad request: %j', async (body, message) => {
    expectFailure(await send(body), 400, 'BadRequest', message)
  })

  test.each([
    [{ colour: 'red' }, '.colour: field not declared in schema'],
    [{ data: { a: 1 } }, '.data.a: expected string, got &value.valueUnstructured{Value:1}'],
    [{ data: 'x' }, '.data: expected map, got &{x}'],
    [{ immutable: 'x' }, '.immutable: expected boolean, got &{x}'],
  ])('has to fit the type: %j', async (rest, problem) => {
    const context = 'failed to create typed patch object (/never; /v1, Kind=ConfigMap)'
    expectFailure(await send(configMap('never', rest)), 500, '', `${context}: ${problem}`)
  })

  test('is not taken in CBOR', async () => {
    const contentType = 'application/apply-patch+cbor'
    const answer = await cluster.api.request('PATCH', pathOf('never'), { body: {}, contentType })
    expectFailure(answer, 415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  })
})
