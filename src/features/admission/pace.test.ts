import { beforeEach, expect, test } from 'vitest'
import type { Clock } from '../../util/clock.ts'
import { Pace } from './pace.ts'

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

async function write(pace: Pace, times: number, everyMs: number = 0): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await pace.wait(signal)
    nowMs += everyMs
  }
}

test('the first two writes come at once, later ones after longer and longer pauses', async () => {
  const pace = new Pace(clock)
  await write(pace, 9)
  expect(sleptMs).toEqual([1000, 2000, 5000, 10_000, 30_000, 60_000, 60_000])
  expect(pace.inRow).toBe(8)
})

test('two who take turns with the longest pause do not count as calm', async () => {
  const pace = new Pace(clock)
  await write(pace, 20, 120_000)
  expect(sleptMs.at(-1)).toBe(60_000)
})

test('after some calm all is forgotten', async () => {
  const pace = new Pace(clock)
  await write(pace, 9)
  nowMs += 600_001
  await write(pace, 2)
  expect(sleptMs).toHaveLength(7)
  expect(pace.inRow).toBe(1)
})

test('what is to be written for the first time does not wait', async () => {
  const pace = new Pace(clock)
  await write(pace, 9)
  pace.reset()
  await write(pace, 2)
  expect(sleptMs).toHaveLength(7)
})

test('whoever is told to stop does not wait any longer', async () => {
  const aborted = AbortSignal.abort(new Error('stopping'))
  const pace = new Pace({ now: () => 0, sleep: async (_, given) => given?.throwIfAborted() })
  await write(pace, 2)
  await expect(pace.wait(aborted)).rejects.toThrow('stopping')
})
