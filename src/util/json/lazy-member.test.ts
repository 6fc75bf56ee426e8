import { expect, test, vi } from 'vitest'
import { expectLinearGrowth } from '../../../test/support/growth.ts'
import { lazyMembersOf, parseObject, shareText } from './lazy-json.ts'
import { isLargeValue, LazyMember } from './lazy-member.ts'

const text = JSON.stringify({ list: Array.from({ length: 20_000 }, (_, index) => ({ index, nothing: {} })) })

test('a lazy member is parsed ahead in the background and is then frozen', async () => {
  const member = new LazyMember(text)
  const release = member.hold()
  const parse = vi.spyOn(JSON, 'parse')
  await member.prepare()
  expect(parse).toHaveBeenCalledTimes(1)
  const value = member.read() as { list: object[] }
  expect(value.list.every(Object.isFrozen)).toBe(true)
  expect(isLargeValue(value)).toBe(true)
  expect(parse).toHaveBeenCalledTimes(1)
  parse.mockRestore()
  release()
})

test('a lazy member that is read while it is being frozen is completely frozen', async () => {
  const member = new LazyMember(text)
  const release = member.hold()
  const preparing = member.prepare()
  await new Promise(setImmediate)
  const value = member.read() as { list: Array<{ nothing: object }> }
  expect(value.list.every((one) => Object.isFrozen(one) && Object.isFrozen(one.nothing))).toBe(true)
  await preparing
  expect(member.read()).toBe(value)
  release()
})

test('a copy of a lazy member is not frozen and has its own value', () => {
  const member = new LazyMember(text)
  const copy = member.copy() as { list: unknown[] }
  copy.list.length = 0
  expect((member.read() as typeof copy).list).toHaveLength(20_000)
})

test('states of an object share the lazy members with the same text', () => {
  const stateOf = (version: string, spec: string) =>
    parseObject(`{"metadata":{"resourceVersion":"${version}"},"spec":${spec}}`) as { spec: object }
  const first = stateOf('1', text)
  const value = first.spec
  const second = stateOf('2', text)
  const third = stateOf('3', text.replace('{"index":0', '{"index":9'))
  shareText(second, first)
  shareText(third, second)
  expect(second.spec).toBe(value)
  expect(third.spec).not.toBe(value)
  expect(lazyMembersOf(second).size).toBe(1)
})

test('the cost of parsing a lazy member ahead grows linearly', () =>
  expectLinearGrowth({
    n: 30_000,
    prepare: (n) => new LazyMember(`[${'[],'.repeat(n)}1]`),
    run: (member) => member.prepare(),
  }))
