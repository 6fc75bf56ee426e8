import { expect, test } from 'vitest'
import { Latch } from './latch.ts'

test('a latch releases its waiters when it opens, and later callers at once', async () => {
  const latch = new Latch()
  const signal = new AbortController().signal
  const waiting = [latch.wait(signal), latch.wait(undefined), latch.opened]
  latch.open()
  await Promise.all(waiting)
  await latch.wait(signal)
})

test('a waiter of a latch that is aborted gets the reason', async () => {
  const latch = new Latch()
  const leaving = new AbortController()
  const waiting = latch.wait(leaving.signal)
  leaving.abort('dinner')
  await expect(waiting).rejects.toBe('dinner')
  await expect(latch.wait(leaving.signal)).rejects.toBe('dinner')
})

test('an open latch lets aborted callers pass', async () => {
  const latch = new Latch()
  latch.open()
  await expect(latch.wait(AbortSignal.abort())).resolves.toBeUndefined()
})
