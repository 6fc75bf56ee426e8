import { defineResource, inWorker, Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { parseJsonText, toJsonText } from '../../src/util/json/json-text.ts'
import type { Tree } from '../support/answers.ts'
import { Conversions, type Convert } from './conversion-lab.ts'

const conversions = new Conversions()
const { lab } = conversions
const objectOf = conversions.objectOf.bind(conversions)
const reviewOf = conversions.reviewOf.bind(conversions)
const operatorOf = conversions.operatorOf.bind(conversions)
const startWith = conversions.start.bind(conversions)

describe('conversions', () => {
  test('a conversion changes the fields that it returns and keeps the others', async () => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': ({ spec }) => ({ spec: { replicas: spec['size'] } }) }))
    const fields = { metadata: { labels: { a: 'b' }, managedFields: [{ manager: 'x' }] }, status: { x: 1 }, extra: [1] }
    expect(await convert([objectOf('v1', { ...fields, spec: { size: 3 } })], 'v2')).toEqual({
      uid: 'review-uid',
      result: { status: 'Success' },
      convertedObjects: [objectOf('v2', { ...fields, spec: { replicas: 3 } })],
    })
  })

  test('a conversion removes top-level fields that it returns as null', async () => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': () => ({ spec: null, status: { a: null } }) }))
    const { convertedObjects } = await convert([objectOf('v1', { spec: {}, status: { b: 1 }, kept: true })], 'v2')
    expect(convertedObjects).toEqual([objectOf('v2', { status: { a: null }, kept: true })])
  })

  test.each<[string, Tree, Tree]>([
    ['new labels', { labels: { new: 'x' } }, { labels: { new: 'x' }, annotations: { b: '2' } }],
    ['new annotations', { annotations: {} }, { labels: { a: '1' }, annotations: {} }],
    ['no labels', { labels: null }, { annotations: { b: '2' } }],
    ['its name and uid unchanged', { name: 'other', uid: 'x' }, { labels: { a: '1' }, annotations: { b: '2' } }],
  ])('a converted object has %s if the conversion returns metadata', async (_name, given, expected) => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': () => ({ metadata: given }) }))
    const object = objectOf('v1', { metadata: { labels: { a: '1' }, annotations: { b: '2' } } })
    const { convertedObjects } = await convert([object], 'v2')
    expect(convertedObjects).toEqual([objectOf('v2', { metadata: expected })])
  })

  test('a conversion may return the whole object, and values with toJSON or Maps', async () => {
    const { convert } = await startWith(
      operatorOf({
        'v1-v2': ({ body }) => ({ ...body, spec: { when: new Date(0) } }),
        'v2-v3': () => ({ spec: new Map([['a', 1]]) }),
      }),
    )
    const objects = [objectOf('v1', { spec: { a: 1 } })]
    expect((await convert(objects, 'v2')).convertedObjects).toEqual([
      objectOf('v2', { spec: { when: '1970-01-01T00:00:00.000Z' } }),
    ])
    expect((await convert(objects, 'v3')).convertedObjects).toEqual([objectOf('v3', { spec: { a: 1 } })])
  })

  test('a conversion takes the shortest path over other versions if there is no direct one', async () => {
    const seen: string[] = []
    const step = ({ spec, resource }: Parameters<Convert>[0]) => {
      seen.push(resource.version)
      return { spec: { steps: Number(spec['steps'] ?? 0) + 1 } }
    }
    const { convert } = await startWith(
      operatorOf({
        'v1-v2': step,
        'v2-v3': step,
        'v3-v2': step,
        'v2-v1': step,
        'v1alpha1-v1': step,
        'v1alpha1-v2': step,
      }),
    )
    const stepsTo = async (from: string, to: string) => {
      const { convertedObjects } = await convert([objectOf(from)], to)
      return convertedObjects![0]
    }
    expect(await stepsTo('v1', 'v3')).toEqual(objectOf('v3', { spec: { steps: 2 } }))
    expect(await stepsTo('v3', 'v1')).toEqual(objectOf('v1', { spec: { steps: 2 } }))
    // A version that is stored but no longer served.
    expect(await stepsTo('v1alpha1', 'v3')).toEqual(objectOf('v3', { spec: { steps: 2 } }))
    expect(await stepsTo('v2', 'v2')).toEqual(objectOf('v2'))
    expect(seen).toEqual(['v1', 'v2', 'v3', 'v2', 'v1alpha1', 'v2'])
  })

  test('a conversion gets a read-only object and may return it as its result', async () => {
    const { convert } = await startWith(
      operatorOf({
        'v1-v2': ({ spec }) => {
          ;(spec as { size: number }).size = 1
        },
        'v2-v3': ({ body }) => body,
      }),
    )
    const object = objectOf('v1', { spec: { size: 0 } })
    expect((await convert([object], 'v2')).result.message).toContain('read only property')
    expect(object['spec']).toEqual({ size: 0 })
    expect((await convert([objectOf('v2', { spec: {} })], 'v3')).convertedObjects).toEqual([
      objectOf('v3', { spec: {} }),
    ])
  })

  test('a conversion keeps large integers and keys like __proto__', async () => {
    const { post } = await startWith(operatorOf({ 'v1-v2': ({ spec }) => ({ spec: { ...spec, added: 1 } }) }))
    const spec = '{"n":9223372036854775807,"__proto__":{"polluted":1}}'
    const text = toJsonText(reviewOf([objectOf('v1', { spec: {}, other: 0 })], 'v2'))
      .replace('"spec":{}', `"spec":${spec}`)
      .replace('"other":0', '"other":{"m":-9007199254740993}')
    const answer = toJsonText(await post(parseJsonText(text)))
    expect(answer).toContain('"n":9223372036854775807')
    expect(answer).toContain('"m":-9007199254740993')
    expect(answer).toContain('"__proto__":{"polluted":1}')
    expect(answer).toContain('"added":1')
  })

  test('a conversion can be registered with resource definitions, which name the versions and type the arguments', async () => {
    const define = (version: string) => defineResource({ group: lab.group, version, kind: 'Widget' })
    const kopf = new Operator()
    kopf.on.convert(define('v1'), { from: define('v1'), to: define('v2') }, ({ from, to }) => ({ spec: { from, to } }))
    const { convert } = await startWith(kopf)
    const { convertedObjects } = await convert([objectOf('v1')], 'v2')
    expect(convertedObjects).toEqual([objectOf('v2', { spec: { from: 'v1', to: 'v2' } })])
  })

  test('a conversion can run in a worker thread', async () => {
    const kopf = new Operator()
    const convert = inWorker(new URL('./workers/handlers.ts', import.meta.url), { name: 'double' })
    kopf.on.convert(lab.widgets, { from: 'v1', to: 'v2' }, convert as never)
    const started = await startWith(kopf)
    const { convertedObjects } = await lab.outside(
      started.convert([objectOf('v1', { spec: { n: 21n as never } })], 'v2'),
    )
    expect(convertedObjects).toEqual([objectOf('v2', { spec: { n: 42n } })])
  })
})

describe('conversion registration', () => {
  test('a second conversion between the same versions is refused', () => {
    const kopf = new Operator()
    const add = (id: string) => kopf.on.convert(lab.widgets, { from: 'v1', to: 'v2', id }, () => ({}))
    add('first')
    expect(() => add('second')).toThrow('there is one way from a version to another')
    kopf.on.convert(lab.widgets, { from: 'v2', to: 'v1' }, () => ({}))
  })

  test.each<[string, object, string]>([
    ['no versions', {}, '"from" is a version of it: { from: "v1", to: "v2" }'],
    ['no target version', { from: 'v1' }, '"to" is a version of it'],
    ['the same version twice', { from: 'v1', to: 'v1' }, '"from" and "to" are the same version "v1"'],
    ['an API version with a group', { from: 'example.com/v1', to: 'v2' }, '"from" is a version of it'],
    ['filters', { from: 'v1', to: 'v2', labels: {} }, 'it has no option "labels"'],
  ])('registering a conversion with %s is refused', (_name, options, words) => {
    expect(() => new Operator().on.convert(lab.widgets, options as never, () => ({}))).toThrow(words)
  })
})
