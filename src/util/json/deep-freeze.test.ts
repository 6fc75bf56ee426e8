import { expect, test } from 'vitest'
import { deepFreeze, IncrementalFreeze } from './deep-freeze.ts'

test('deepFreeze freezes everything inside a value and returns the value', () => {
  const inner = { list: [{ a: 1 }, [2]] }
  const value = { inner, nothing: null, text: 'x' }
  expect(deepFreeze(value)).toBe(value)
  for (const one of [value, inner, inner.list, ...inner.list]) expect(Object.isFrozen(one)).toBe(true)
})

test('deepFreeze returns values that are not containers unchanged', () => {
  for (const value of [undefined, null, 1, 'x']) expect(deepFreeze(value)).toBe(value)
})

test('deepFreeze accepts any depth and circular values', () => {
  const circle: { self?: object; other?: { back?: object } } = {}
  circle.self = circle
  circle.other = { back: circle }
  deepFreeze(circle)
  expect(Object.isFrozen(circle.other)).toBe(true)
  let deep: unknown[] = []
  const innermost = deep
  for (let level = 0; level < 100_000; level += 1) deep = [deep]
  deepFreeze(deep)
  expect(Object.isFrozen(innermost)).toBe(true)
})

test('deepFreeze of a large value works in slices', () => {
  const value = Array.from({ length: 20_000 }, () => [{}])
  const freezing = new IncrementalFreeze(value)
  let slices = 1
  while (!freezing.advance(0)) slices += 1
  expect(slices).toBeGreaterThan(10)
  expect(value.every((one) => Object.isFrozen(one) && Object.isFrozen(one[0]))).toBe(true)
})
