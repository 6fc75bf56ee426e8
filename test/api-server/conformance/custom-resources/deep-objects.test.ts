/**
 * Objects of as many levels as the API server accepts: 10,000, counted over the whole document. Every user with permission to
 * create a custom resource can create such an object, so all verbs are tested with it.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { anything } from '../../../support/crds.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'

const cluster = useCluster()
const widgets = (name = '') => cluster.custom(name === '' ? 'widgets' : `widgets/${name}`)

/** The real API server takes a minute for a merge patch that owns thousands of nested fields one by one. */
const atomic = { ...anything, 'x-kubernetes-map-type': 'atomic' }
const scalar = { type: 'object', properties: { text: { type: 'string' } } }

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', schema: { ...anything, properties: { spec: atomic } } })
  await cluster.install({ kind: 'Loose', plural: 'looses' })
  await cluster.install({ kind: 'Strict', plural: 'stricts', schema: { type: 'object', properties: { spec: scalar } } })
})

const nested = (levels: number, end = '1') => `${'{"a":'.repeat(levels)}${end}${'}'.repeat(levels)}`
const listed = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

/** The object itself adds one level to those of the spec. */
const textOf = (name: string, spec: string, kind = 'Widget') =>
  `{"apiVersion":"${cluster.group}/v1","kind":"${kind}","metadata":{"name":"${name}"},"spec":${spec}}`

const create = (name: string, spec: string) => cluster.api.post(widgets(), textOf(name, spec))

function expectSpec(answer: Answer, spec: string, status = 200): void {
  expectStatus(answer, status)
  expect(answer.text.includes(`"spec":${spec}`)).toBe(true)
}

describe('objects of 9,000 levels', () => {
  const spec = nested(9000)

  test('an object of 9,000 levels is created, read, listed and deleted', async () => {
    expectSpec(await create('whole', spec), spec, 201)
    expectSpec(await cluster.api.get(widgets('whole')), spec)
    expectSpec(await cluster.api.get(widgets()), spec)
    expectStatus(await cluster.api.delete(widgets('whole')), 200)
    expect((await cluster.api.get(widgets('whole'))).status).toBe(404)
  })

  test('an object of 9,000 levels is shown as a Table and as PartialObjectMetadata', async () => {
    expectStatus(await create('shown', spec), 201)
    const as = (shape: string) => ({ accept: `application/json;as=${shape};g=meta.k8s.io;v=v1` })
    const table = expectStatus(await cluster.api.get(widgets('shown'), undefined, as('Table')), 200)
    expect(table.rows[0]!.cells[0]).toBe('shown')
    const metadata = await cluster.api.get(widgets('shown'), undefined, as('PartialObjectMetadata'))
    expect(expectStatus(metadata, 200).metadata.name).toBe('shown')
  })

  test('watches show an object of 9,000 levels when it is created, changed and deleted', async () => {
    const watch = await cluster.api.watch(widgets(), { fieldSelector: 'metadata.name=watched' })
    expectStatus(await create('watched', spec), 201)
    expectStatus(await cluster.api.jsonPatch(widgets('watched'), [{ op: 'replace', path: '/spec', value: {} }]), 200)
    expectStatus(await cluster.api.delete(widgets('watched')), 200)
    const events = [await watch.next(), await watch.next(), await watch.next()]
    watch.close()
    expect(events.map((event) => event?.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
    expect(depthOf(events[0]!.object['spec'])).toBe(9000)
  })

  test('JSON patches change an object of 9,000 levels at the top, as a whole and below 500 levels', async () => {
    expectStatus(await create('patched', spec), 201)
    const path = widgets('patched')
    const labels = { op: 'add', path: '/metadata/labels', value: { size: 'large' } }
    expect(expectStatus(await cluster.api.jsonPatch(path, [labels]), 200).metadata.labels).toEqual({ size: 'large' })
    const whole = `[{"op":"replace","path":"/spec","value":${nested(9000, '2')}}]`
    expectSpec(await cluster.api.jsonPatch(path, whole), nested(9000, '2'))
    // The real API server decodes the remaining document again for each level of the path, so the path is short.
    const below = await cluster.api.jsonPatch(path, [{ op: 'add', path: `/spec${'/a'.repeat(500)}/b`, value: 3 }])
    expectStatus(below, 200)
    expect(below.text.includes('"b":3')).toBe(true)
  })

  test('merge patches change an object of 9,000 levels', async () => {
    expectStatus(await create('merged', spec), 201)
    const labels = { metadata: { labels: { size: 'large' } } }
    expectSpec(await cluster.api.mergePatch(widgets('merged'), labels), spec)
    const answer = await cluster.api.mergePatch(widgets('merged'), `{"spec":{"b":${nested(50)}}}`)
    expectStatus(answer, 200)
    expect(answer.text.includes(`"b":${nested(50)}`)).toBe(true)
  })

  test('an update replaces an object of 9,000 levels', async () => {
    const { metadata } = expectStatus(await create('replaced', spec), 201)
    const body = textOf('replaced', nested(9000, '"new"')).replace(
      '"name":"replaced"',
      `"name":"replaced","resourceVersion":"${metadata.resourceVersion}"`,
    )
    expectSpec(await cluster.api.put(widgets('replaced'), body), nested(9000, '"new"'))
  })

  test('an object of 9,000 levels is applied, applied again by its manager, and refused to another applier', async () => {
    const apply = (value: string, fieldManager: string) =>
      cluster.api.request('PATCH', widgets('applied'), {
        body: textOf('applied', value),
        contentType: 'application/apply-patch+yaml',
        query: { fieldManager },
      })
    expectSpec(await apply(spec, 'one'), spec, 201)
    expectSpec(await apply(nested(9000, '2'), 'one'), nested(9000, '2'))
    const refused = await apply(nested(9000, '3'), 'two')
    expect([refused.status, refused.body['reason']]).toEqual([409, 'Conflict'])
    expect(refused.body['message']).toBe('Apply failed with 1 conflict: conflict with "one": .spec')
  })

  test('an object of 9,000 levels is refused where its schema expects a string', async () => {
    const answer = await cluster.api.post(cluster.custom('stricts'), textOf('wrong', `{"text":${spec}}`, 'Strict'))
    expect([answer.status, answer.body['reason']]).toEqual([422, 'Invalid'])
  })

  test('an object of 9,000 levels loses the fields that its schema does not have', async () => {
    const answer = await cluster.api.post(cluster.custom('stricts'), textOf('pruned', `{"more":${spec}}`, 'Strict'))
    expect(expectStatus(answer, 201).spec).toEqual({})
  })
})

test('an object of 2,500 levels that are owned one by one is created, changed and applied', async () => {
  const path = cluster.custom('looses/owned')
  const body = (end: string) => textOf('owned', nested(2500, end), 'Loose')
  expectSpec(await cluster.api.post(cluster.custom('looses'), body('1')), nested(2500), 201)
  const bottom = [{ op: 'replace', path: `/spec${'/a'.repeat(2500)}`, value: 2 }]
  expectSpec(await cluster.api.jsonPatch(path, bottom), nested(2500, '2'))
  const options = { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'one', force: true } }
  expectSpec(await cluster.api.request('PATCH', path, { ...options, body: body('3') }), nested(2500, '3'))
})

describe('objects of 300 levels', () => {
  test('an object of 300 levels is written in YAML', async () => {
    expectStatus(await create('yaml', nested(300)), 201)
    const answer = await cluster.api.get(widgets('yaml'), undefined, { accept: 'application/yaml' })
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/yaml'])
    expect(answer.text).toContain('kind: Widget')
  })

  test('an object of 300 levels is read from JSON that is sent as YAML', async () => {
    const options = { contentType: 'application/yaml' }
    expectSpec(await cluster.api.post(widgets(), textOf('from-yaml', nested(300)), options), nested(300), 201)
  })
})

describe('the limit of 10,000 levels', () => {
  const tooDeep = (character: string) => `json parse error: invalid character '${character}' exceeded max depth`

  test.each([
    ['objects', nested, '{'],
    ['lists', listed, '['],
  ])('the API server accepts 10,000 levels of %s in an object, and no more', async (kind, make, character) => {
    expectSpec(await create(`most-${kind}`, make(9999)), make(9999), 201)
    expectSpec(await cluster.api.get(widgets(`most-${kind}`)), make(9999))
    const refused = await create(`more-${kind}`, make(10_000))
    expect([refused.status, refused.body['reason']]).toEqual([400, 'BadRequest'])
    expect(refused.body['message']).toContain(tooDeep(character))
  })

  test('the API server accepts 10,000 levels in a JSON patch, and no more', async () => {
    expectStatus(await create('patch', '{}'), 201)
    const patch = (levels: number) => `[{"op":"replace","path":"/spec","value":${nested(levels)}}]`
    expectSpec(await cluster.api.jsonPatch(widgets('patch'), patch(9998)), nested(9998))
    const refused = await cluster.api.jsonPatch(widgets('patch'), patch(9999))
    expectFailure(refused, 400, 'BadRequest', "error decoding patch: invalid character '{' exceeded max depth")
  })

  test('a patch that copies an object into itself cannot exceed 10,000 levels', async () => {
    expectStatus(await create('copied', nested(9998)), 201)
    const operations = [{ op: 'copy', from: '/spec', path: '/spec/a/b' }]
    const refused = await cluster.api.jsonPatch(widgets('copied'), operations)
    expect([refused.status, refused.body['reason']]).toEqual([422, 'Invalid'])
    expect(refused.text.includes(tooDeep('{'))).toBe(true)
    expectSpec(await cluster.api.get(widgets('copied')), nested(9998))
  })
})

function depthOf(value: unknown): number {
  let depth = 0
  for (let at = value as { a?: unknown }; typeof at === 'object'; at = at.a as { a?: unknown }) depth += 1
  return depth
}
