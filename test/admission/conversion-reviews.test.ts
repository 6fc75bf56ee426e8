import { describe, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { gate } from '../support/recording.ts'
import { Conversions, type Convert, type Spec } from './conversion-lab.ts'

const conversions = new Conversions()
const { lab } = conversions
const objectOf = conversions.objectOf.bind(conversions)
const reviewOf = conversions.reviewOf.bind(conversions)
const operatorOf = conversions.operatorOf.bind(conversions)
const startWith = conversions.start.bind(conversions)

describe('conversion failures', () => {
  test.each<[string, Convert, Tree, string, string]>([
    [
      'the conversion throws',
      () => {
        throw new RangeError('no such size')
      },
      objectOf('v1'),
      'v2',
      'Cannot convert Widget "default/one" from GROUP/v1 to GROUP/v2: no such size',
    ],
    ['the conversion returns nothing', () => undefined, objectOf('v1'), 'v2', 'The conversion returned no object'],
    ['the conversion returns a list', () => [], objectOf('v1'), 'v2', 'The conversion returned no object'],
    [
      'the conversion returns a function',
      () => ({ spec: () => {} }),
      objectOf('v1'),
      'v2',
      'JSON cannot hold a function',
    ],
    [
      'there is no conversion between the versions',
      () => ({}),
      objectOf('v2'),
      'v1',
      'Cannot convert Widget "default/one" from GROUP/v2 to GROUP/v1: there is no conversion between them; register it with on.convert',
    ],
    [
      'the object is of another group',
      () => ({}),
      { ...objectOf('v1'), apiVersion: 'example.org/v1' },
      'v2',
      'Cannot convert Widget "default/one" from example.org/v1 to GROUP/v2: they are not versions of one group',
    ],
    [
      'the object is of another kind',
      () => ({}),
      { ...objectOf('v1'), kind: 'Gadget' },
      'v2',
      'Cannot convert Gadget "default/one" from GROUP/v1 to GROUP/v2: there is no conversion between them',
    ],
    [
      'the conversion returns null for a cluster-scoped object',
      () => null,
      { ...objectOf('v1'), metadata: { name: 'alone' } },
      'v2',
      'Cannot convert Widget "alone" from',
    ],
  ])('a conversion review fails and names the object if %s', async (_name, convert, object, version, words) => {
    const started = await startWith(operatorOf({ 'v1-v2': convert }))
    const { result, convertedObjects } = await started.convert([object], version)
    expect(convertedObjects).toBeUndefined()
    expect(result.status).toBe('Failure')
    expect(result.message).toContain(words.replaceAll('GROUP', lab.group))
  })

  test('a conversion review of 500 objects names the failed one, and a concurrent review succeeds', async () => {
    const { convert } = await startWith(
      operatorOf({
        'v1-v2': ({ name }) => {
          if (name === 'n250') throw new Error('it is bad')
          return { spec: { name } }
        },
      }),
    )
    const list = (prefix: string) =>
      Array.from({ length: 500 }, (_, index) => objectOf('v1', { metadata: { name: `${prefix}${index}` } }))
    const [bad, good] = await Promise.all([convert(list('n'), 'v2'), convert(list('m'), 'v2')])
    expect(bad).toEqual({
      uid: 'review-uid',
      result: {
        status: 'Failure',
        message: `Cannot convert Widget "default/n250" from ${lab.group}/v1 to ${lab.group}/v2: it is bad`,
      },
    })
    expect(good.convertedObjects).toHaveLength(500)
    expect(good.convertedObjects!.map(({ spec }) => (spec as Spec)['name'])).toEqual(
      Array.from({ length: 500 }, (_, index) => `m${index}`),
    )
    expect(lab.logs.some((line) => line.startsWith('[default/n250] ') && line.includes('it is bad'))).toBe(true)
  })

  test('a conversion review names three failed objects and the number of the others', async () => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': () => undefined }))
    const objects = Array.from({ length: 8 }, (_, index) => objectOf('v1', { metadata: { name: `n${index}` } }))
    const { message } = (await convert(objects, 'v2')).result
    expect(message!.match(/Cannot convert/g)).toHaveLength(3)
    expect(message).toMatch(/; and 5 more$/)
  })
})

describe('large conversion reviews', () => {
  test('the objects of a conversion review are converted ten at a time', async () => {
    let [started, running, most] = [0, 0, 0]
    let release = gate()
    const { convert } = await startWith(
      operatorOf({
        'v1-v2': async () => {
          started += 1
          running += 1
          most = Math.max(most, running)
          await release.opened
          running -= 1
          return {}
        },
      }),
    )
    const objects = Array.from({ length: 25 }, (_, index) => objectOf('v1', { metadata: { name: `n${index}` } }))
    const converting = convert(objects, 'v2')
    for (const expected of [10, 20, 25]) {
      await lab.until(() => started === expected)
      const waiting = release
      release = gate()
      waiting.open()
    }
    expect((await converting).convertedObjects).toHaveLength(25)
    expect(most).toBe(10)
  })

  test('a large conversion review with synchronous conversions yields to the event loop', async () => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': ({ spec }) => ({ spec }) }))
    const objects = Array.from({ length: 500 }, (_, index) => objectOf('v1', { metadata: { name: `n${index}` } }))
    let turns = 0
    let isDone = false
    const count = () => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await convert(objects, 'v2')
    isDone = true
    expect(turns).toBeGreaterThanOrEqual(49)
  })

  test('a conversion review stops when its client has disconnected', async () => {
    let calls = 0
    const client = new AbortController()
    const { post } = await startWith(
      operatorOf({
        'v1-v2': () => {
          calls += 1
          client.abort(new Error('gone'))
          return {}
        },
      }),
    )
    const objects = Array.from({ length: 100 }, () => objectOf('v1'))
    await expect(post(reviewOf(objects, 'v2'), client.signal)).rejects.toThrow('gone')
    expect(calls).toBe(10)
  })
})

test('a conversion that never returns does not hold up other conversion reviews', async () => {
  let isCalled = false
  const { post, convert } = await startWith(
    operatorOf({
      'v1-v2': async () => {
        isCalled = true
        await new Promise(() => {})
      },
      'v2-v3': () => ({}),
    }),
  )
  const client = new AbortController()
  const stuck = post(reviewOf([objectOf('v1')], 'v2'), client.signal)
  await lab.until(() => isCalled)
  expect((await convert([objectOf('v2')], 'v3')).result.status).toBe('Success')
  client.abort(new Error('gone'))
  await expect(stuck).rejects.toThrow('gone')
})

describe('conversion review versions', () => {
  test.each(['apiextensions.k8s.io/v1', 'apiextensions.k8s.io/v1beta1'])(
    'a conversion review of %s is answered in the same version',
    async (apiVersion) => {
      const { door } = await startWith(operatorOf({ 'v1-v2': () => ({}) }))
      const answer = await door.fn({ ...reviewOf([objectOf('v1')], 'v2'), apiVersion })
      expect(answer).toMatchObject({ apiVersion, kind: 'ConversionReview', response: { uid: 'review-uid' } })
    },
  )

  test.each<[string, Tree]>([
    ['without a request', { request: undefined }],
    ['without a desired version', { request: { uid: 'u', objects: [] } }],
    ['without objects', { request: { uid: 'u', desiredAPIVersion: 'example.com/v1' } }],
    ['whose objects are texts', { request: { uid: 'u', desiredAPIVersion: 'example.com/v1', objects: ['text'] } }],
    ['of objects without metadata', { request: { uid: 'u', desiredAPIVersion: 'example.com/v1', objects: [{}] } }],
    ['of an unknown API version', { apiVersion: 'apiextensions.k8s.io/v2' }],
  ])('a conversion review %s is answered with 400', async (_name, changes) => {
    const { door } = await startWith(operatorOf({ 'v1-v2': () => ({}) }))
    await expect(door.fn({ ...reviewOf([], 'v2'), ...changes })).rejects.toMatchObject({ status: 400 })
  })

  test('a conversion review of no objects is answered with no objects', async () => {
    const { convert } = await startWith(operatorOf({ 'v1-v2': () => ({}) }))
    expect((await convert([], 'v2')).convertedObjects).toEqual([])
  })
})
