import { describe, expect, test } from 'vitest'
import { toPairs } from './pairs.ts'

class Point {
  readonly x = 1
}

function* generate<T>(...items: T[]): Generator<T> {
  yield* items
}

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: {} }

test.each([[undefined], [null]])('%s says nothing', (result) => {
  expect(toPairs(result)).toBeUndefined()
})

const pairs = Object.entries({ a: 1, b: null })

describe('keys and values are', () => {
  test.each<[string, unknown]>([
    ['an array of pairs', pairs],
    ['a map', new Map(pairs)],
    ['a generator of pairs', generate(...pairs)],
    ['a set of pairs', new Set(pairs)],
    ['the entries of a map', new Map(pairs).entries()],
    ['a plain object', Object.fromEntries(pairs)],
    ['an object without a prototype', Object.assign(Object.create(null), Object.fromEntries(pairs))],
  ])('%s', (_, result) => {
    expect(toPairs(result)).toEqual(pairs)
  })

  test('of any kind', () => {
    const one = [
      [
        ['a', 'b'],
        [1, 2],
      ],
    ] as const
    expect(toPairs(one)).toEqual(one)
    expect(toPairs(new Map(one))).toEqual(one)
  })

  test('all of an object, also where it looks a little like one of the cluster', () => {
    const json = '{"__proto__":1,"kind":"Pod","metadata":{}}'
    expect(toPairs(JSON.parse(json))).toEqual(Object.entries(JSON.parse(json)))
  })
})

describe('no keys at all are', () => {
  test.each<[string, unknown]>([
    ['an empty map', new Map()],
    ['an empty array', []],
    ['an empty generator', generate()],
    ['an empty object', {}],
  ])('%s', (_, result) => {
    expect(toPairs(result)).toEqual([])
  })
})

describe('one value without a key is', () => {
  test.each<[string, unknown]>([
    ['a text', 'name'],
    ['an empty text', ''],
    ['a number', 0],
    ['a truth value', false],
    ['a big integer', 1n],
    ['a function', () => 1],
    ['an array of something else', ['namespace', 'name']],
    ['an array that is not all pairs', [['a', 1], ['b']]],
    ['a text of two letters in an array', ['ab']],
    ['a set', new Set(['main', 'sidecar'])],
    ['an empty set', new Set()],
    ['bytes', new Uint8Array([1, 2])],
    ['a date', new Date(0)],
    ['an instance of a class', new Point()],
    ['an object of the cluster', pod],
    ['a frozen one', Object.freeze(pod)],
  ])('%s', (_, result) => {
    const [pair, ...more] = toPairs(result)!
    expect([pair?.[0], more]).toEqual([null, []])
    expect(pair?.[1]).toBe(result)
  })
})

test('of a generator of something else, the value is what it has yielded', () => {
  expect(toPairs(generate('a', 'b'))).toEqual([[null, ['a', 'b']]])
})
