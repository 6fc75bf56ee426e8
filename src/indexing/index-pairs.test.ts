import { describe, expect, test } from 'vitest'
import { toPairs } from './indexer.ts'

class Point {
  readonly x = 1
}

function* generate<T>(...items: T[]): Generator<T> {
  yield* items
}

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: {} }

test.each([[undefined], [null]])('the result %s of an index handler leaves the index unchanged', (result) => {
  expect(toPairs(result)).toBeUndefined()
})

const pairs = Object.entries({ a: 1, b: null })

describe('keys and values of index handlers', () => {
  test.each<[string, unknown]>([
    ['an array of pairs', pairs],
    ['a map', new Map(pairs)],
    ['a generator of pairs', generate(...pairs)],
    ['a set of pairs', new Set(pairs)],
    ['the entries of a map', new Map(pairs).entries()],
    ['a plain object', Object.fromEntries(pairs)],
    ['an object without a prototype', Object.assign(Object.create(null), Object.fromEntries(pairs))],
  ])('the keys and values of an index handler can be %s', (_, result) => {
    expect(toPairs(result)).toEqual(pairs)
  })

  test('the keys and values of an index handler can have any type', () => {
    const one = [
      [
        ['a', 'b'],
        [1, 2],
      ],
    ] as const
    expect(toPairs(one)).toEqual(one)
    expect(toPairs(new Map(one))).toEqual(one)
  })

  test('an object with a few fields of a Kubernetes object is taken as keys and values', () => {
    const json = '{"__proto__":1,"kind":"Pod","metadata":{}}'
    expect(toPairs(JSON.parse(json))).toEqual(Object.entries(JSON.parse(json)))
  })
})

describe('index handlers without keys', () => {
  test.each<[string, unknown]>([
    ['an empty map', new Map()],
    ['an empty array', []],
    ['an empty generator', generate()],
    ['an empty object', {}],
  ])('an index handler that returns %s has no keys', (_, result) => {
    expect(toPairs(result)).toEqual([])
  })
})

describe('single values of index handlers', () => {
  test.each<[string, unknown]>([
    ['a text', 'name'],
    ['an empty text', ''],
    ['a number', 0],
    ['a truth value', false],
    ['a big integer', 1n],
    ['a function', () => 1],
    ['an array of texts', ['namespace', 'name']],
    ['an array that contains more than pairs', [['a', 1], ['b']]],
    ['a text of two letters in an array', ['ab']],
    ['a set', new Set(['main', 'sidecar'])],
    ['an empty set', new Set()],
    ['bytes', new Uint8Array([1, 2])],
    ['a date', new Date(0)],
    ['an instance of a class', new Point()],
    ['a Kubernetes object', pod],
    ['a frozen Kubernetes object', Object.freeze(pod)],
  ])('an index handler that returns %s has one value without a key', (_, result) => {
    const [pair, ...more] = toPairs(result)!
    expect([pair?.[0], more]).toEqual([null, []])
    expect(pair?.[1]).toBe(result)
  })
})

test('an index handler that generates other values than pairs has one array of them as its value', () => {
  expect(toPairs(generate('a', 'b'))).toEqual([[null, ['a', 'b']]])
})
