import { expect, test } from 'vitest'
import { settle } from '../../test/support/manual-clock.ts'
import { Pause } from './pause.ts'

test('it is paused while there is any reason', () => {
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

/** Notes when it begins and ends. */
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

test('work is begun at once, ended by a pause before that returns, and begun again after it', async () => {
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

test('work that is asked for during a pause waits, and is not begun where it is called off', async () => {
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

test('a pause that comes with the end of another does not let anybody through', async () => {
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
