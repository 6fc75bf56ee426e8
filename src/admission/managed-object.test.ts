import { beforeEach, expect, test } from 'vitest'
import type { Clock } from '../util/async/clock.ts'
import { RepairBackoff } from './managed-object.ts'

const { signal } = new AbortController()
let nowMs = 0
let sleptMs: number[] = []
const clock: Clock = {
  now: () => nowMs,
  async sleep(delayMs) {
    sleptMs.push(delayMs)
    nowMs += delayMs
  },
}

beforeEach(() => {
  nowMs = 0
  sleptMs = []
})

async function write(backoff: RepairBackoff, times: number, everyMs: number = 0): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await backoff.wait(signal)
    nowMs += everyMs
  }
}

test('the first two writes of a configuration are immediate, and later writes have longer and longer pauses', async () => {
  const backoff = new RepairBackoff(clock)
  await write(backoff, 9)
  expect(sleptMs).toEqual([1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000])
  expect(backoff.repeats).toBe(8)
})

test('two operators that alternate at the maximum pause do not reset the write count', async () => {
  const backoff = new RepairBackoff(clock)
  await write(backoff, 20, 120_000)
  expect(sleptMs.at(-1)).toBe(60_000)
})

test('the write count of a configuration is reset after the quiet time', async () => {
  const backoff = new RepairBackoff(clock)
  await write(backoff, 9)
  nowMs += 600_001
  await write(backoff, 2)
  expect(sleptMs).toHaveLength(7)
  expect(backoff.repeats).toBe(1)
})

test('the first write after a reset of the backoff is immediate', async () => {
  const backoff = new RepairBackoff(clock)
  await write(backoff, 9)
  backoff.reset()
  await write(backoff, 2)
  expect(sleptMs).toHaveLength(7)
})

test('a pause between writes ends when the operator stops', async () => {
  const aborted = AbortSignal.abort(new Error('stopping'))
  const backoff = new RepairBackoff({ now: () => 0, sleep: async (_, given) => given?.throwIfAborted() })
  await write(backoff, 2)
  await expect(backoff.wait(aborted)).rejects.toThrow('stopping')
})
