import { describe, expect, test } from 'vitest'
import { cloneJson, isDeepEqual } from './deep-equal.ts'

const hostile = (): unknown => JSON.parse('{"__proto__":{"a":1},"constructor":null,"toString":"x"}')

function nested(depth: number, end: unknown): unknown {
  let value = end
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

describe('isDeepEqual', () => {
  test.each<[string, unknown, unknown, boolean]>([
    ['equal scalars', 1, 1, true],
    ['different types', 1, '1', false],
    ['null and an empty object', null, {}, false],
    ['keys in another order', { a: 1, b: [2] }, { b: [2], a: 1 }, true],
    ['null and a missing key', { a: null }, {}, false],
    ['a missing key and null', {}, { a: null }, false],
    ['null under one key and null under another key', { a: null }, { b: null }, false],
    ['items in another order', [1, 2], [2, 1], false],
    ['lists of different lengths', [1], [1, 1], false],
    ['a list and an object with its indices', ['x'], { 0: 'x' }, false],
    ['an object and a list', {}, [], false],
    ['a key that all objects inherit', { constructor: 1 }, { b: 1 }, false],
    ['an own __proto__', hostile(), hostile(), true],
    ['an own __proto__ and none', JSON.parse('{"__proto__":{}}'), {}, false],
  ])('isDeepEqual compares %s', (_, a, b, expected) => {
    expect(isDeepEqual(a, b)).toBe(expected)
  })

  test('isDeepEqual compares values of any depth', () => {
    expect(isDeepEqual(nested(100_000, 1), nested(100_000, 1))).toBe(true)
    expect(isDeepEqual(nested(100_000, 1), nested(100_000, 2))).toBe(false)
  })
})

describe('cloneJson', () => {
  test('cloneJson copies everything and shares nothing', () => {
    const original = { a: [{ b: 1 }, null], c: 'd' }
    const copy = cloneJson(original)
    expect(copy).toEqual(original)
    expect(Object.keys(copy)).toEqual(['a', 'c'])
    copy.a.push(null)
    ;(copy.a[0] as { b: number }).b = 2
    expect(original).toEqual({ a: [{ b: 1 }, null], c: 'd' })
  })

  test('cloneJson copies keys such as __proto__ as plain keys', () => {
    const copy = cloneJson(hostile()) as object
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1},"constructor":null,"toString":"x"}')
  })

  test('cloneJson copies values of any depth', () => {
    expect(isDeepEqual(cloneJson(nested(100_000, 'end')), nested(100_000, 'end'))).toBe(true)
  })
})
