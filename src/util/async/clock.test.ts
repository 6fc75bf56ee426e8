import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { callAfter, systemClock } from './clock.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 })
})
afterEach(() => {
  vi.useRealTimers()
})

async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let result = false
  promise.then(
    () => (result = true),
    () => (result = true),
  )
  await vi.advanceTimersByTimeAsync(0)
  return result
}

test('the system clock has the current time', () => {
  expect(systemClock.now()).toBe(1000)
})

test('a sleep ends after its delay', async () => {
  const sleep = systemClock.sleep(500)
  await vi.advanceTimersByTimeAsync(499)
  expect(await isOver(sleep)).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver(sleep)).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test.each([0, -5])('a sleep of %i milliseconds ends after a moment', async (delayMs) => {
  const sleep = systemClock.sleep(delayMs)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver(sleep)).toBe(true)
})

test('a sleep can be longer than a timer allows', async () => {
  const fiftyDays = 50 * 24 * 3_600_000
  const sleep = systemClock.sleep(fiftyDays)
  await vi.advanceTimersByTimeAsync(fiftyDays - 1)
  expect(await isOver(sleep)).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await isOver(sleep)).toBe(true)
})

test('an infinite sleep never ends', async () => {
  const sleep = systemClock.sleep(Number.POSITIVE_INFINITY)
  await vi.advanceTimersByTimeAsync(100 * 24 * 3_600_000)
  expect(await isOver(sleep)).toBe(false)
})

test('a sleep ends with the reason of an abort, and leaves no timer behind', async () => {
  const abort = new AbortController()
  const sleep = systemClock.sleep(500, abort.signal)
  const reason = new Error('enough')
  abort.abort(reason)
  await expect(sleep).rejects.toBe(reason)
  expect(vi.getTimerCount()).toBe(0)
})

test('a long sleep ends with an abort in a later part', async () => {
  const abort = new AbortController()
  const sleep = systemClock.sleep(2 ** 32, abort.signal).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(2 ** 31 + 5)
  abort.abort('enough')
  expect(await sleep).toBe('enough')
  expect(vi.getTimerCount()).toBe(0)
})

test('a sleep with an aborted signal does not start', async () => {
  await expect(systemClock.sleep(500, AbortSignal.abort('enough'))).rejects.toBe('enough')
  expect(vi.getTimerCount()).toBe(0)
})

test('a sleep leaves no listener behind', async () => {
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  const sleep = systemClock.sleep(5, signal)
  await vi.advanceTimersByTimeAsync(5)
  await sleep
  expect(removed.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
    added.mock.calls.map(([type, listener]) => [type, listener]),
  )
})

test.each([500, 2 ** 31 + 500])('an alarm rings once after %i milliseconds', async (delayMs) => {
  const ring = vi.fn()
  callAfter(delayMs, ring)
  await vi.advanceTimersByTimeAsync(delayMs - 1)
  expect(ring).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(ring).toHaveBeenCalledTimes(1)
  expect(vi.getTimerCount()).toBe(0)
})
