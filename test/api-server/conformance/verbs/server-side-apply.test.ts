/** Server-side apply: created, merged and removed fields, conflicts with other managers, and refused configurations. */
import { describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { type ApplyOptions, apply, entriesOf, ownersOf } from '../../../support/managed-fields.ts'
import { modified } from '../../../support/messages.ts'
import { configMap } from '../../../support/objects.ts'

const cluster = useCluster()
let count = 0
const fresh = () => `object-${++count}`
const pathOf = (name: string) => cluster.core(`configmaps/${name}`)

function applyData(name: string, data: Tree | undefined, options?: ApplyOptions, metadata: Tree = {}): Promise<Answer> {
  return apply(cluster.api, pathOf(name), configMap({ name, ...metadata }, data === undefined ? {} : { data }), options)
}

describe('applying a missing object', () => {
  test('an apply creates a missing object, owned by the applier', async () => {
    const answer = await applyData(fresh(), { a: '1' }, { as: 'me' })
    expect(answer.status).toBe(201)
    expect(answer.body['data']).toEqual({ a: '1' })
    const [entry] = entriesOf(answer)
    expect(entry).toMatchObject({ manager: 'me', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' })
    expect(entry!.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(entry!.fieldsV1).toEqual({ 'f:data': { 'f:a': {} } })
  })

  test('a dry run of an apply creates no object', async () => {
    const name = fresh()
    expect((await applyData(name, { a: '1' }, { query: 'dryRun=All' })).status).toBe(201)
    expect((await cluster.api.get(pathOf(name))).status).toBe(404)
  })

  test('an apply with a uid does not create a missing object', async () => {
    const name = fresh()
    const why = 'uid mismatch: the provided object specified uid abc, and no existing object was found'
    const message = `Operation cannot be fulfilled on configmaps "${name}": ${why}`
    const answer = await applyData(name, {}, {}, { uid: 'abc' })
    expectFailure(answer, 409, 'Conflict', message, { name, kind: 'configmaps' })
  })

  test('an apply with a resourceVersion creates a missing object', async () => {
    expect((await applyData(fresh(), { a: '1' }, {}, { resourceVersion: '1' })).status).toBe(201)
  })
})

describe('applying an existing object', () => {
  test('an apply keeps fields that the configuration does not mention', async () => {
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

  test('an apply removes fields that its manager no longer mentions', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '2' })
    const answer = await applyData(name, { b: '2' })
    expect(answer.body['data']).toEqual({ b: '2' })
    expect(ownersOf(answer)).toEqual({ 'applier Apply': { 'f:data': { 'f:b': {} } } })
  })

  test('an apply keeps an unmentioned field that another manager owns too', async () => {
    const name = fresh()
    await applyData(name, { a: '1', b: '2' }, { as: 'one' })
    await applyData(name, { a: '1' }, { as: 'two' })
    const answer = await applyData(name, undefined, { as: 'one' })
    expect(answer.body['data']).toEqual({ a: '1' })
    expect(ownersOf(answer)).toEqual({ 'two Apply': { 'f:data': { 'f:a': {} } } })
  })

  test('an apply that changes nothing keeps the time and the resourceVersion', async () => {
    const name = fresh()
    const before = await applyData(name, { a: '1' })
    const after = await applyData(name, { a: '1' })
    expect(after.text).toBe(before.text)
  })

  test('an apply by a second manager of the same values is written, without a time for that manager', async () => {
    const name = fresh()
    const before = await applyData(name, { a: '1' }, { as: 'one' })
    const after = await applyData(name, { a: '1' }, { as: 'two' })
    expect(after.body.metadata.resourceVersion).not.toBe(before.body.metadata.resourceVersion)
    expect(entriesOf(after).map(({ manager, time }) => [manager, time !== undefined])).toEqual([
      ['two', false],
      ['one', true],
    ])
  })

  test('an apply with another resourceVersion or uid is a conflict', async () => {
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

  test('an apply to an object without managedFields adds the manager before-first-apply', async () => {
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

describe('apply conflicts', () => {
  const cause = (manager: string, field: string) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field,
  })

  test('an apply conflict names the other applier and the field', async () => {
    const name = fresh()
    await applyData(name, { a: '1' }, { as: 'one' })
    const message = 'Apply failed with 1 conflict: conflict with "one": .data.a'
    const answer = await applyData(name, { a: '2' }, { as: 'two' })
    expectFailure(answer, 409, 'Conflict', message, { causes: [cause('"one"', '.data.a')] })
  })

  test('an apply conflict names an updater with the apiVersion of its update', async () => {
    const name = fresh()
    const query = { fieldManager: 'one' }
    await cluster.api.post(cluster.core('configmaps'), configMap(name, { data: { a: '1' } }), { query })
    const message = 'Apply failed with 1 conflict: conflict with "one" using v1: .data.a'
    const answer = await applyData(name, { a: '2' }, { as: 'two' })
    expectFailure(answer, 409, 'Conflict', message, { causes: [cause('"one" using v1', '.data.a')] })
  })

  test('an apply conflict names all managers and fields', async () => {
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

  test('an apply of the same value is no conflict', async () => {
    const name = fresh()
    await applyData(name, { a: '1' }, { as: 'one' })
    const answer = await applyData(name, { a: '1' }, { as: 'two' })
    expect(Object.keys(ownersOf(answer)).sort()).toEqual(['one Apply', 'two Apply'])
  })

  test('a forced apply takes over the field from other managers', async () => {
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

describe('applied configurations', () => {
  const send = (body: unknown, options?: ApplyOptions) => apply(cluster.api, pathOf('never'), body, options)

  test('an apply without a fieldManager is invalid', async () => {
    const contentType = 'application/apply-patch+yaml'
    const answer = await cluster.api.request('PATCH', pathOf('never'), { body: configMap('never'), contentType })
    const subject = { kind: 'PatchOptions', group: 'meta.k8s.io' }
    expectInvalid(answer, subject, 'fieldManager: Required value: is required for apply patch')
  })

  test('an apply accepts YAML, and the last of duplicate keys counts', async () => {
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
  ])('an applied configuration is refused as a bad request: %j', async (body, message) => {
    expectFailure(await send(body), 400, 'BadRequest', message)
  })

  test.each([
    [{ colour: 'red' }, '.colour: field not declared in schema'],
    [{ data: { a: 1 } }, '.data.a: expected string, got &value.valueUnstructured{Value:1}'],
    [{ data: 'x' }, '.data: expected map, got &{x}'],
    [{ immutable: 'x' }, '.immutable: expected boolean, got &{x}'],
  ])('an applied configuration must match the schema of the type: %j', async (rest, problem) => {
    const context = 'failed to create typed patch object (/never; /v1, Kind=ConfigMap)'
    expectFailure(await send(configMap('never', rest)), 500, '', `${context}: ${problem}`)
  })

  test('an apply in CBOR is answered with 415', async () => {
    const contentType = 'application/apply-patch+cbor'
    const answer = await cluster.api.request('PATCH', pathOf('never'), { body: {}, contentType })
    expectFailure(answer, 415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  })
})
