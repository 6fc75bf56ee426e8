import { afterEach, expect, test, vi } from 'vitest'
import { slots } from '../../test/handlers/workers/handlers.ts'
import { ManualClock } from '../../test/support/manual-clock.ts'
import { useThreads } from '../../test/support/threads.ts'
import { WorkerPool } from './pool.ts'

const threads = useThreads()
const modules = new URL('../../test/handlers/workers/', import.meta.url)
const pools: WorkerPool[] = []

afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
  expect(threads.size).toBe(0)
})

function createPool(limit: () => number, clock: ManualClock = new ManualClock()) {
  const pool = new WorkerPool({ clock, limit })
  pools.push(pool)
  const memory = new SharedArrayBuffer(32)
  const cells = new Int32Array(memory)
  const call = (exportName: string, args: object = {}) =>
    pool.run({ url: new URL('handlers.ts', modules).href, exportName }, { param: memory, ...args }) as Promise<{
      thread: number
      order: number
    }>
  const started = (calls: number) => vi.waitFor(() => expect(Atomics.load(cells, slots.started)).toBe(calls), patience)
  const release = () => {
    Atomics.store(cells, slots.released, 1)
    Atomics.notify(cells, slots.released)
  }
  return { pool, clock, call, started, release }
}

const patience = { timeout: 10_000 }

test('a thread is reused, and consecutive calls need only one thread', async () => {
  const { call } = createPool(() => 4)
  const used = new Set<number>()
  for (let calls = 0; calls < 3; calls += 1) used.add((await call('number')).thread)
  expect(used.size).toBe(1)
  expect(threads.size).toBe(1)
})

test('calls without a free thread run in the order of their arrival', async () => {
  const { call, started, release } = createPool(() => 1)
  const blocking = call('block')
  await started(1)
  const waiting = [0, 1, 2, 3].map(() => call('number'))
  release()
  await blocking
  expect((await Promise.all(waiting)).map(({ order }) => order)).toEqual([0, 1, 2, 3])
  expect(threads.size).toBe(1)
})

test('a thread ends after a minute without calls', async () => {
  const { clock, call } = createPool(() => 4)
  const { thread } = await call('number')
  await clock.advance(59_000)
  expect((await call('number')).thread).toBe(thread)
  await clock.advance(59_000)
  expect(threads.size).toBe(1)
  await clock.advance(1000)
  await vi.waitFor(() => expect(threads.size).toBe(0), patience)
  expect((await call('number')).thread).not.toBe(thread)
})

test('a pool without idle threads has no timers', async () => {
  const { pool, clock, call } = createPool(() => 4)
  await call('number')
  expect(clock.sleeping).toBe(1)
  await pool.close()
  expect(clock.sleeping).toBe(0)
})

test('surplus threads end when the limit is lowered', async () => {
  let limit = 2
  const { call, started, release } = createPool(() => limit)
  const blocking = [call('block'), call('block')]
  await started(2)
  expect(threads.size).toBe(2)
  limit = 1
  release()
  await Promise.all(blocking)
  await vi.waitFor(() => expect(threads.size).toBe(1), patience)
})

test('a thread that dies while it is idle is replaced', async () => {
  const { call } = createPool(() => 1)
  await call('dieLater')
  await vi.waitFor(() => expect(threads.size).toBe(0), patience)
  expect((await call('number')).order).toBe(0)
})

test('a module that failed to load is loaded again', async () => {
  const { pool } = createPool(() => 1)
  const run = () => pool.run({ url: new URL('unlucky.ts', modules).href, exportName: 'default' }, {})
  await expect(run()).rejects.toThrow('no luck')
  process.env['KOPF_TEST_LUCK'] = 'yes'
  try {
    expect(await run()).toBe('lucky')
  } finally {
    Reflect.deleteProperty(process.env, 'KOPF_TEST_LUCK')
  }
})

test('a waiting call that is aborted is not made, and the next call takes its place', async () => {
  const { call, started, release } = createPool(() => 1)
  const blocking = call('block')
  await started(1)
  const controller = new AbortController()
  void call('number', { signal: controller.signal })
  const patient = call('number')
  controller.abort()
  release()
  await blocking
  expect((await patient).order).toBe(0)
  expect((await call('number')).order).toBe(1)
})

test('a daemon that is stopped while it waits for a thread has ended', async () => {
  const { call, started, release } = createPool(() => 1)
  const blocking = call('block')
  await started(1)
  const controller = new AbortController()
  const daemon = call('number', { stopped: { signal: controller.signal } })
  controller.abort()
  await expect(daemon).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
  release()
  await blocking
  expect((await call('number')).order).toBe(0)
})

test('excused threads do not count for the limit, and end after their call', async () => {
  const { pool, call, started, release } = createPool(() => 1)
  const blocking = call('block')
  await started(1)
  pool.abandonCalls()
  expect((await call('number')).order).toBe(0)
  expect(threads.size).toBe(2)
  release()
  expect(await blocking).toBe('released')
  await vi.waitFor(() => expect(threads.size).toBe(1), patience)
})

test('a closed pool reports how many threads were busy, and refuses further calls', async () => {
  const { pool, call, started } = createPool(() => 2)
  void call('block')
  await started(1)
  expect(await pool.close()).toBe(1)
  expect(threads.size).toBe(0)
  await expect(call('number')).rejects.toThrow('Cannot run anything in a worker: the operator has stopped')
})
