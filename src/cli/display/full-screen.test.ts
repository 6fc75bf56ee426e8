import { afterEach, beforeEach, expect, test } from 'vitest'
import { FullScreen, type ScreenStream } from './full-screen.ts'

let written: string[]
let size: [number, number]
let listeners: Set<() => void>
let resized: number
const stream: ScreenStream = {
  getWindowSize: () => size,
  write: (text) => written.push(text),
  on: (_, listener) => listeners.add(listener),
  off: (_, listener) => listeners.delete(listener),
}
let screen: FullScreen

beforeEach(() => {
  written = []
  size = [20, 3]
  listeners = new Set()
  resized = 0
  screen = new FullScreen(stream, () => {
    resized += 1
  })
})
afterEach(() => screen.leave())

test('the screen enters the alternate screen of the terminal, and leaves it once', () => {
  expect(written).toEqual(['\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'])
  screen.leave()
  screen.leave()
  screen.draw(['late'])
  expect(written.slice(1)).toEqual(['\u001b[?7h\u001b[?25h\u001b[?1049l'])
  expect(listeners.size).toBe(0)
})

test('the screen writes only rows that have changed, and not more than there are', () => {
  screen.draw(['one', 'two', 'three', 'four'])
  screen.draw(['one', 'TWO'])
  screen.draw(['one', 'TWO'])
  expect(written.slice(1)).toEqual([
    '\u001b[1;1H\u001b[Kone\u001b[2;1H\u001b[Ktwo\u001b[3;1H\u001b[Kthree',
    '\u001b[2;1H\u001b[KTWO\u001b[3;1H\u001b[K',
  ])
})

test('the screen writes all rows again after the terminal was resized', () => {
  screen.draw(['one'])
  size = [10, 2]
  for (const listener of listeners) listener()
  expect(resized).toBe(1)
  expect([screen.columns, screen.rows]).toEqual([10, 2])
  screen.draw(['one'])
  expect(written.slice(2)).toEqual(['\u001b[2J', '\u001b[1;1H\u001b[Kone\u001b[2;1H\u001b[K'])
})

test('the output of others is not held back with the screen: it keeps the write of its start', () => {
  const other = { ...stream }
  const second = new FullScreen(other, () => {})
  other.write = () => {
    throw new Error('held back')
  }
  second.draw(['one'])
  second.leave()
  expect(written.at(-1)).toContain('?1049l')
})
