import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { createLiveView } from './live-view.ts'

function view(first: object) {
  const held = { now: Object.freeze(first) as object }
  return {
    held,
    live: createLiveView(
      () => held,
      ({ now }) => now,
    ) as Record<string, unknown>,
  }
}

test('a live view shows the current state, also after destructuring', () => {
  const { held, live } = view({ size: 1 })
  const { live: kept } = { live }
  held.now = Object.freeze({ size: 2, more: true })
  expect(kept['size']).toBe(2)
  expect(Object.keys(kept)).toEqual(['size', 'more'])
  expect('more' in kept).toBe(true)
  expect({ ...kept }).toEqual({ size: 2, more: true })
})

test('a live view looks like the object it shows', () => {
  const { live } = view({ a: { b: [1] } })
  expect(JSON.stringify(live)).toBe('{"a":{"b":[1]}}')
  expect(inspect(live)).toBe('{ a: { b: [ 1 ] } }')
  expect(Object.entries(live)).toEqual([['a', { b: [1] }]])
  expect(live).toEqual({ a: { b: [1] } })
  expect(Object.getPrototypeOf(live)).toBe(Object.prototype)
})

test('a live view has keys such as `constructor` as plain keys, and no members of its own', () => {
  const { live } = view(JSON.parse('{"constructor":"x","__proto__":{"y":1}}'))
  expect(live['constructor']).toBe('x')
  expect(Object.keys(live)).toEqual(['constructor', '__proto__'])
  expect(live['current']).toBeUndefined()
})

test('a live view cannot be written to', () => {
  const { live } = view({ a: 1 })
  expect(() => {
    live['a'] = 2
  }).toThrow(TypeError)
  expect(() => {
    delete live['a']
  }).toThrow(TypeError)
  expect(() => Object.defineProperty(live, 'a', { value: 2 })).toThrow(TypeError)
  expect(() => Object.freeze(live)).toThrow(TypeError)
  expect(live['a']).toBe(1)
})
