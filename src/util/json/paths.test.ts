import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cloneJson } from './deep-equal.ts'
import { ensurePath, parsePath, removePath, resolvePath, withoutPath, withPath } from './paths.ts'

const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":{"b":2}}') as object

test('a field path is a dotted text, or an array of keys that may have dots', () => {
  expect(parsePath('spec.field')).toEqual(['spec', 'field'])
  expect(parsePath(['metadata', 'labels', 'example.com/x'])).toEqual(['metadata', 'labels', 'example.com/x'])
})

test.each<[unknown, string, unknown]>([
  [{ a: { b: 1 } }, 'a.b', 1],
  [{ a: { b: null } }, 'a.b', null],
  [{ a: { b: 1 } }, 'a.c', undefined],
  [{ a: 'text' }, 'a.length', undefined],
  [{ a: [1] }, 'a.0', undefined],
  [{ a: null }, 'a.b', undefined],
  [{}, 'constructor.name', undefined],
  [{}, '__proto__', undefined],
  [hostile, '__proto__.a', 1],
  [hostile, 'constructor.b', 2],
])('the field in %j at %s is %j', (root, path, expected) => {
  expect(resolvePath(root, parsePath(path))).toBe(expected)
})

describe('setting a field', () => {
  test.each<[object, string, object]>([
    [{}, 'a.b', { a: { b: 1 } }],
    [{ a: { c: 2 }, d: 3 }, 'a.b', { a: { c: 2, b: 1 }, d: 3 }],
    [{ a: null }, 'a.b', { a: { b: 1 } }],
    [{ a: [2] }, 'a.b', { a: { b: 1 } }],
  ])('setting a field in %j at %s gives %j', (root, path, expected) => {
    const before = cloneJson(root)
    expect(withPath(root, parsePath(path), 1)).toEqual(expected)
    expect(root).toEqual(before)
    ensurePath(root as Record<string, unknown>, parsePath(path), 1)
    expect(root).toEqual(expected)
  })

  test('setting a field shares the untouched parts with the original, and returns the original if nothing changes', () => {
    const root = { a: { b: 1, c: {} }, d: {} }
    const changed = withPath(root, ['a', 'b'], 2)
    expect(changed.d).toBe(root.d)
    expect(changed.a.c).toBe(root.a.c)
    expect(withPath(root, ['a', 'b'], 1)).toBe(root)
  })

  test('setting a field never touches a prototype', () => {
    const target: Record<string, unknown> = {}
    ensurePath(target, ['__proto__', 'polluted'], 1)
    ensurePath(target, ['constructor', 'polluted'], 1)
    expect(JSON.stringify(target)).toBe('{"__proto__":{"polluted":1},"constructor":{"polluted":1}}')
    expect(JSON.stringify(withPath({}, ['__proto__', 'polluted'], 1))).toBe('{"__proto__":{"polluted":1}}')
    expect(({} as { polluted?: number }).polluted ?? (Object as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('removing a field', () => {
  test.each<[object, string, object]>([
    [{ a: 1, b: 2 }, 'a', { b: 2 }],
    [{ a: { b: 1 } }, 'a.b', {}],
    [{ a: { b: { c: 1 } }, d: 1 }, 'a.b.c', { d: 1 }],
    [{ a: { b: { c: 1 }, e: 0 } }, 'a.b.c', { a: { e: 0 } }],
    [{ a: {} }, 'a.b', {}],
    [{ a: {} }, 'a.b.c', {}],
    [{ a: { b: {} } }, 'a.b.c', {}],
    [{ a: 'text' }, 'a.b', { a: 'text' }],
    [{ a: [1] }, 'a.0', { a: [1] }],
    [{ a: null }, 'a.b.c', { a: null }],
    [{ a: 1 }, 'b.c', { a: 1 }],
    [{ a: 1 }, 'constructor.name', { a: 1 }],
  ])('removing a field from %j at %s leaves %j', (root, path, expected) => {
    const before = cloneJson(root)
    expect(withoutPath(root, parsePath(path))).toEqual(expected)
    expect(root).toEqual(before)
    removePath(root as Record<string, unknown>, parsePath(path))
    expect(root).toEqual(expected)
  })

  test('removing a field shares the untouched parts with the original, and returns the original if nothing changes', () => {
    const root = { a: { b: 1, c: {} }, d: {} }
    const changed = withoutPath(root, ['a', 'b'])
    expect(changed.a.c).toBe(root.a.c)
    expect(changed.d).toBe(root.d)
    expect(withoutPath(root, ['a', 'x', 'y'])).toBe(root)
  })
})

test('a field that was set is there, and is gone once it is removed', () => {
  const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString')
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(key, { minLength: 1, maxLength: 4 }), (value, path) => {
      const root = { a: { b: { a: value } }, constructor: value } as object
      const changed = withPath(root, path, 'set')
      expect(resolvePath(changed, path)).toBe('set')
      expect(resolvePath(withoutPath(changed, path), path)).toBeUndefined()
    }),
  )
})
