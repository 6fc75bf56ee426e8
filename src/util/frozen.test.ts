import { expect, test } from 'vitest'
import { deepFreeze, Freezing } from './frozen.ts'

test('everything inside is frozen, and the same is given back', () => {
  const inner = { list: [{ a: 1 }, [2]] }
  const value = { inner, nothing: null, text: 'x' }
  expect(deepFreeze(value)).toBe(value)
  for (const one of [value, inner, inner.list, ...inner.list]) expect(Object.isFrozen(one)).toBe(true)
})

test('what is no container stays what it is', () => {
  for (const value of [undefined, null, 1, 'x']) expect(deepFreeze(value)).toBe(value)
})

test('depth and circles do no harm', () => {
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

test('a large value is frozen in slices', () => {
  const value = Array.from({ length: 20_000 }, () => [{}])
  const freezing = new Freezing(value)
  let slices = 1
  while (!freezing.advance(0)) slices += 1
  expect(slices).toBeGreaterThan(10)
  expect(value.every((one) => Object.isFrozen(one) && Object.isFrozen(one[0]))).toBe(true)
})
