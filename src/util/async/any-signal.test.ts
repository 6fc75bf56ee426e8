import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { withAnySignal } from './any-signal.ts'

test('a combined signal is aborted by any of its sources, with its reason', async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const seen: unknown[] = []
  const working = withAnySignal([first.signal, second.signal], async (make) => {
    const signal = make()
    seen.push(signal.aborted)
    second.abort('second')
    first.abort('first')
    seen.push(signal.aborted, signal.reason)
  })
  await working.catch(() => {})
  expect(seen).toEqual([false, true, 'second'])
})

test('a combined signal is already aborted if one of its sources is', async () => {
  let aborted: boolean | undefined
  const working = withAnySignal([new AbortController().signal, AbortSignal.abort('early')], async (signal) => {
    aborted = signal().aborted
    await new Promise(() => {})
  })
  await expect(working).rejects.toBe('early')
  expect(aborted).toBe(true)
})

test('a combined signal does not wait for work that ignores it', async () => {
  const source = new AbortController()
  const working = withAnySignal([source.signal], () => new Promise(() => {}))
  source.abort('enough')
  await expect(working).rejects.toBe('enough')
  expect(getEventListeners(source.signal, 'abort')).toEqual([])
})

test('a combined signal passes on the result of the work', async () => {
  expect(await withAnySignal([new AbortController().signal], async () => 'given')).toBe('given')
  expect(await withAnySignal([], async (signal) => signal().aborted)).toBe(false)
})

test.each([
  ['is done', async () => {}],
  [
    'has failed',
    async () => {
      throw new Error('on purpose')
    },
  ],
])('a combined signal leaves no listeners behind when the work %s', async (_name, work) => {
  const source = new AbortController()
  let during = 0
  await withAnySignal([source.signal], () => {
    during = getEventListeners(source.signal, 'abort').length
    return work()
  }).catch(() => {})
  expect([during, getEventListeners(source.signal, 'abort').length]).toEqual([1, 0])
})

test('a combined signal that is requested after an abort is aborted', async () => {
  const source = new AbortController()
  let signal: AbortSignal | undefined
  const working = withAnySignal([source.signal], async (make) => {
    source.abort('before')
    signal = make()
  })
  await expect(working).rejects.toBe('before')
  expect(signal).toMatchObject({ aborted: true, reason: 'before' })
})

describe('late sources', () => {
  test('a late source is not created if no signal is requested', async () => {
    let made = 0
    const late = () => {
      made += 1
      return AbortSignal.abort('never heard of')
    }
    expect(await withAnySignal([], async () => 'given', late)).toBe('given')
    expect(made).toBe(0)
  })

  test('a late source aborts a requested signal, and leaves no listeners behind', async () => {
    const [early, late] = [new AbortController(), new AbortController()]
    let signal: AbortSignal | undefined
    const working = withAnySignal(
      [early.signal],
      (make) => {
        signal = make()
        return new Promise(() => {})
      },
      () => late.signal,
    )
    late.abort('late')
    await expect(working).rejects.toBe('late')
    expect(signal).toMatchObject({ aborted: true, reason: 'late' })
    expect([early, late].map((one) => getEventListeners(one.signal, 'abort').length)).toEqual([0, 0])
  })
})
