import { expect, test } from 'vitest'
import { systemClock } from '../util/async/clock.ts'
import { isCausedByStop } from './exit.ts'

test.each([
  ['before the failure', 0, true],
  ['shortly after the failure', 20, true],
  ['never', 60_000, false],
])('a stop that is requested %s (after %s ms) is its cause: %s', async (_, delayMs, expected) => {
  const over = new AbortController()
  const stopped = systemClock.sleep(delayMs, over.signal).catch(() => new Promise(() => {}))
  expect(await isCausedByStop(stopped)).toBe(expected)
  over.abort()
})
