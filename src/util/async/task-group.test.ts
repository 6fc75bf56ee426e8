import { expect, test } from 'vitest'
import { deepFreeze } from '../json/deep-freeze.ts'
import { lazy } from '../lazy.ts'
import { TaskGroup } from './task-group.ts'

test('a stopped task group aborts its tasks, and waits for the last one to end', async () => {
  const log: string[] = []
  const group = new TaskGroup((error) => log.push(`failed: ${error}`))
  group.run(async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.resolve()
    log.push('ended')
  })
  await group.stop()
  expect(log).toEqual(['ended'])
})

test('a task group reports a failed task, but not the errors that its stop causes', async () => {
  const failures: unknown[] = []
  const group = new TaskGroup((error) => failures.push(error))
  group.run(() => Promise.reject('by itself'))
  group.run(
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject('because it was stopped'))),
  )
  await Promise.resolve()
  await group.stop()
  expect(failures).toEqual(['by itself'])
})

test('a lazy value is created at the first access and never again, even if it is undefined', () => {
  let made = 0
  const get = lazy(() => {
    made += 1
    return undefined
  })
  expect(made).toBe(0)
  expect([get(), get()]).toEqual([undefined, undefined])
  expect(made).toBe(1)
})

test('deepFreeze reaches any depth', () => {
  let deep: Record<string, unknown> = {}
  const root = deep
  for (let level = 0; level < 20_000; level += 1) {
    deep['a'] = { list: [{}] }
    deep = deep['a'] as Record<string, unknown>
  }
  expect(deepFreeze(root)).toBe(root)
  expect(Object.isFrozen(deep)).toBe(true)
  expect(Object.isFrozen((deep['list'] as object[])[0])).toBe(true)
})
