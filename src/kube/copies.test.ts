import { expect, test, vi } from 'vitest'
import { expectLinearGrowth, nest } from '../../test/support/growth.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import { parseObject, weightOf } from '../util/json/lazy-json.ts'
import { createLiveView } from '../util/live-view.ts'
import { copyObjects, deepCopy } from './copies.ts'

test('a deep copy of a frozen body can be changed at every depth without changing the body', () => {
  const body = deepFreeze({ kind: 'Database', spec: { users: ['alice'], size: 2n ** 60n }, status: null })
  const copy = deepCopy(body)
  expect(copy).toEqual(body)
  copy.spec.users.push('bob')
  Object.assign(copy, { status: { phase: 'Ready' } })
  expect(body).toEqual({ kind: 'Database', spec: { users: ['alice'], size: 2n ** 60n }, status: null })
})

test('a deep copy of a live view is its current state, and does not follow later changes', () => {
  const held = { now: deepFreeze({ spec: { users: ['alice'] } }) }
  const live = createLiveView(
    () => held,
    ({ now }) => now,
  ) as typeof held.now
  expect(() => structuredClone(live)).toThrow('could not be cloned')
  const copy = deepCopy(live)
  held.now = deepFreeze({ spec: { users: ['bob'] } })
  expect(copy).toEqual({ spec: { users: ['alice'] } })
  copy.spec.users.push('carol')
  expect(copy.spec.users).toEqual(['alice', 'carol'])
  expect(live.spec.users).toEqual(['bob'])
})

const large = {
  kind: 'Thing',
  metadata: { name: 'a', annotations: { a: 'x'.repeat(3000) } },
  spec: { list: Array.from({ length: 2000 }, (_, index) => ({ index })) },
}

test('a deep copy of a large object has no getters, and parses each unparsed member once, for the copy alone', () => {
  const object = parseObject(JSON.stringify(large)) as typeof large
  expect(weightOf(object).bytes).toBeGreaterThan(0)
  const parse = vi.spyOn(JSON, 'parse')
  const copy = deepCopy(object)
  // One call parses the spec, one the annotations.
  expect(parse).toHaveBeenCalledTimes(2)
  parse.mockRestore()
  const { spec, metadata } = Object.getOwnPropertyDescriptors(copy)
  expect([spec.get, Object.getOwnPropertyDescriptor(metadata.value, 'annotations')?.get]).toEqual([
    undefined,
    undefined,
  ])
  copy.spec.list[0]!.index = -1
  copy.metadata.annotations.a = 'y'
  expect(copy).not.toEqual(large)
  expect(object).toEqual(large)
})

test('a deep copy of a live view of a large object can be changed', () => {
  const object = parseObject(JSON.stringify(large)) as typeof large
  const copy = deepCopy(
    createLiveView(
      () => object,
      (state) => state,
    ) as typeof large,
  )
  expect(copy).toEqual(large)
  copy.spec.list.pop()
  expect(object.spec.list).toHaveLength(2000)
})

test.each([[undefined], [null], ['text'], [1], [true], [10n]])('a deep copy of %s is the value itself', (value) => {
  expect(deepCopy(value)).toBe(value)
})

test('a deep copy keeps keys such as __proto__, classes and dates', () => {
  class Pod {
    spec = { containers: [{ name: 'c' }] }
  }
  const date = new Date()
  const copy = deepCopy({ ...JSON.parse('{"__proto__": {"a": 1}}'), pod: new Pod(), date })
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  expect(Object.getOwnPropertyDescriptor(copy, '__proto__')?.value).toEqual({ a: 1 })
  expect(copy.pod).toBeInstanceOf(Pod)
  expect(copy.date).toBe(date)
})

test('a deep copy of an object that contains itself contains itself', () => {
  const object: Record<string, unknown> = { a: 1 }
  object['self'] = object
  const copy = copyObjects(object)
  expect(copy).not.toBe(object)
  expect(copy['self']).toBe(copy)
})

test('a deep copy of a hundred thousand levels does not overflow the stack', () => {
  let copy: unknown = deepCopy(nest(100_000))
  let levels = 0
  for (; typeof copy === 'object' && copy !== null; levels += 1) copy = (copy as { a: unknown }).a
  expect([levels, copy]).toEqual([100_000, 'end'])
})

test('the cost of a deep copy grows linearly with the object', async () => {
  await expectLinearGrowth({
    n: 5000,
    prepare: (n) => deepFreeze({ list: Array.from({ length: n }, (_, index) => ({ index, labels: { a: 'b' } })) }),
    run: (object) => void deepCopy(object),
  })
})
