import { expect, test } from 'vitest'
import { deepFreeze } from './frozen.ts'
import { once } from './once.ts'
import { TaskGroup } from './tasks.ts'

test('a group that is stopped tells its tasks, and waits until the last has ended', async () => {
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

test('a group tells of a task that fails, but not of what its stopping causes', async () => {
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

test('a value that is made once is made when it is asked for, and never again, whatever it is', () => {
  let made = 0
  const get = once(() => {
    made += 1
    return undefined
  })
  expect(made).toBe(0)
  expect([get(), get()]).toEqual([undefined, undefined])
  expect(made).toBe(1)
})

test('freezing goes all the way down, however far that is', () => {
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
