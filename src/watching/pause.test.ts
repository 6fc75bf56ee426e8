import { expect, test } from 'vitest'
import { settle } from '../../test/support/manual-clock.ts'
import { Pause } from './pause.ts'

test('an operator is paused while there is at least one reason', () => {
  const pause = new Pause()
  const seen: boolean[] = []
  pause.onChange(() => seen.push(pause.isPaused))
  pause.release('never held')
  pause.hold('a')
  pause.hold('b')
  pause.hold('a')
  expect(pause.reasons).toEqual(['a', 'b'])
  pause.release('a')
  expect(pause.isPaused).toBe(true)
  pause.release('b')
  expect(pause.isPaused).toBe(false)
  expect(seen).toEqual([true, false])
})

/** Creates work that records its begin and its end. */
function createWork(journal: string[]): (signal: AbortSignal) => Promise<void> {
  return (signal) => {
    journal.push('begins')
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        journal.push('ends')
        resolve()
      }),
    )
  }
}

test('work starts at once, ends synchronously with a pause, and starts again after it', async () => {
  const pause = new Pause()
  const journal: string[] = []
  const end = new AbortController()
  const whole = pause.whileActive(createWork(journal), end.signal)
  expect(journal).toEqual(['begins'])
  pause.hold('a')
  expect(journal).toEqual(['begins', 'ends'])
  await settle()
  expect(journal).toHaveLength(2)
  pause.release('a')
  await settle()
  expect(journal).toEqual(['begins', 'ends', 'begins'])
  end.abort()
  await whole
  expect(journal).toEqual(['begins', 'ends', 'begins', 'ends'])
})

test('work requested during a pause waits, and never starts if it is aborted', async () => {
  const pause = new Pause()
  const journal: string[] = []
  const end = new AbortController()
  pause.hold('a')
  const whole = pause.whileActive(createWork(journal), end.signal)
  await settle()
  end.abort()
  await whole
  pause.release('a')
  await settle()
  expect(journal).toEqual([])
})

test('a pause that follows another pause at once lets no work start in between', async () => {
  const pause = new Pause()
  const journal: string[] = []
  const end = new AbortController()
  pause.hold('a')
  const whole = pause.whileActive(createWork(journal), end.signal)
  await settle()
  pause.release('a')
  pause.hold('b')
  await settle()
  expect(journal).toEqual([])
  pause.release('b')
  await settle()
  expect(journal).toEqual(['begins'])
  end.abort()
  await whole
})

test('a pause in one namespace ends the work of that namespace only', async () => {
  const pause = new Pause()
  const journals: Record<string, string[]> = { a: [], b: [], none: [] }
  const end = new AbortController()
  const work = [
    pause.whileActive(createWork(journals['a']!), end.signal, 'a'),
    pause.whileActive(createWork(journals['b']!), end.signal, 'b'),
    pause.whileActive(createWork(journals['none']!), end.signal),
  ]
  const told: Array<string | undefined> = []
  pause.onChange((namespace) => told.push(namespace))
  pause.hold('x', 'a')
  expect([pause.isPaused, pause.isPausedIn('a'), pause.isPausedIn('b'), pause.isPausedIn(undefined)]).toEqual([
    false,
    true,
    false,
    false,
  ])
  expect(pause.pausedNamespaces).toBe(1)
  expect(journals).toEqual({ a: ['begins', 'ends'], b: ['begins'], none: ['begins'] })
  pause.hold('y')
  expect(pause.isPausedIn('b')).toBe(true)
  pause.release('x', 'a')
  await settle()
  expect(journals).toEqual({ a: ['begins', 'ends'], b: ['begins', 'ends'], none: ['begins', 'ends'] })
  pause.release('y')
  await settle()
  expect(Object.values(journals).map((journal) => journal.at(-1))).toEqual(['begins', 'begins', 'begins'])
  expect(told).toEqual(['a', undefined, 'a', undefined])
  end.abort()
  await Promise.all(work)
})

test('a deleted namespace is forgotten unless it is paused', () => {
  const pause = new Pause()
  pause.hold('x', 'a')
  pause.forget('a')
  expect(pause.isPausedIn('a')).toBe(true)
  pause.release('x', 'a')
  pause.forget('a')
  expect([pause.isPausedIn('a'), pause.pausedNamespaces]).toEqual([false, 0])
})
