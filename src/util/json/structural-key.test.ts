import { describe, expect, test } from 'vitest'
import { KopfError } from '../../errors.ts'
import { toStructuralKey } from './structural-key.ts'

class Point {
  readonly x = 1
}

describe('equal structural keys', () => {
  test.each<[string, unknown, unknown]>([
    ['two arrays of the same items', ['ns', 'name'], ['ns', 'name']],
    ['two objects with another order of keys', { a: 1, b: [2] }, { b: [2], a: 1 }],
    ['objects with and without a prototype', { a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    ['two dates with the same time', new Date(5), new Date(5)],
    ['zero and minus zero in an array', [0], [-0]],
    ['NaN in an array', [Number.NaN], [Number.NaN]],
    ['a hole and undefined', Array(1), [undefined]],
    ['big integers', [10n ** 20n], [10n ** 20n]],
  ])('the structural keys are equal for %s', (_, a, b) => {
    expect(new Map([[toStructuralKey(a), true]]).has(toStructuralKey(b))).toBe(true)
  })
})

test('structural keys of different values differ', () => {
  const keys: unknown[] = [
    ...[undefined, null, true, false, 0, 1, 1n, Number.NaN, Infinity, '', '0', 'null', '[]', '\u0000', '\u0000[]'],
    ...['\u0000"\\u0000"', '\u0000[null]', 'undefined'],
    ...[[], [[]], [null], [undefined], ['null'], ['undefined'], [''], ['', ''], [0], ['0'], [0n], [true], ['true']],
    ...[[Number.NaN], [Infinity], [-Infinity], ['a,b'], ['a', 'b'], ['a', ['b']], [['a'], 'b'], ['"a"'], ['\ud800']],
    ...[{}, { a: 1 }, { a: '1' }, { b: 1 }, { a: 1, b: 1 }, { 'a":1,"b': 1 }, [{}], { a: undefined }, { a: null }],
    ...[JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}'), { constructor: 1 }],
    ...[new Date(0), new Date(1), new Date(Number.NaN), [new Date(0)], 'D0', ['D0']],
  ]
  expect(new Set(keys.map(toStructuralKey)).size).toBe(keys.length)
})

test('the structural key of a symbol or a function is the value itself', () => {
  const [symbol, fn] = [Symbol('a'), () => 1]
  expect(toStructuralKey(symbol)).toBe(symbol)
  expect(toStructuralKey(fn)).toBe(fn)
})

describe('refused structural keys', () => {
  const circle: unknown[] = []
  circle.push({ circle })
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))

  test.each<[string, unknown, RegExp]>([
    ['circular values', circle, /more than 64 levels, or contains itself/],
    ['very deep values', deep, /more than 64 levels/],
    ['instances of classes', new Point(), /a Point is not compared by value/],
    ['nested maps', ['a', new Map()], /a Map is not compared by value/],
    ['nested symbols', [Symbol('a')], /a symbol is part of it/],
    ['nested functions', { a: () => 1 }, /a function is part of it/],
  ])('a structural key is refused for %s', (_, key, reason) => {
    expect(() => toStructuralKey(key)).toThrow(reason)
    expect(() => toStructuralKey(key)).toThrow(KopfError)
  })
})
