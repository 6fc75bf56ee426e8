/** What is drawn of a run, and when: nothing for what is over at once, nothing for ever. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Display, type DisplayOptions } from '../../src/cli/display/display.ts'
import { createPalette } from '../../src/cli/display/palette.ts'
import { StatusLine, type TerminalStream } from '../../src/cli/display/status-line.ts'
import type { ObjectOutcome, Resource } from '../../src/index.ts'
import { Screen } from '../support/screen.ts'

const widgets = { group: 'example.com', version: 'v1', plural: 'widgets' } as Resource
const pods = { group: '', version: 'v1', plural: 'pods' } as Resource

let screen: Screen
let stream: TerminalStream
let writes: number
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  screen = new Screen(80)
  writes = 0
  stream = {
    isTTY: true,
    getWindowSize: () => [80, 24],
    write: (chunk) => {
      writes += 1
      screen.write(String(chunk).replaceAll('\n', '\r\n'))
      return true
    },
  }
})
afterEach(() => void vi.useRealTimers())

const title = () => ({ version: '1.2.3', name: 'it', place: 'there', scope: 'all namespaces' })
const heading = 'kopf 1.2.3: it on there, all namespaces'

function open(options: Partial<DisplayOptions> = { title }): Display {
  const print = (text: string) => void stream.write(`${text}\n`)
  return new Display({ line: new StatusLine(stream), palette: createPalette(false), print, ...options })
}

function pass(seconds: number): void {
  vi.advanceTimersByTime(seconds * 1000)
}

function find(display: Display, count: number): void {
  for (let number = 0; number < count; number += 1) display.account.found(widgets)
}

function settle(display: Display, count: number, outcome: ObjectOutcome = 'created'): void {
  for (let number = 0; number < count; number += 1) display.account.settled(widgets, outcome)
}

/** Connected, listed, with so many to look at. */
function begin(count: number, options?: Partial<DisplayOptions>): Display {
  const display = open(options)
  display.account.connected(undefined)
  display.account.served(widgets, ['create'])
  find(display, count)
  display.account.listed(widgets, count)
  display.listed()
  return display
}

test('what is watched is told at once, and what came of it as soon as that is known', () => {
  const display = begin(2)
  expect(screen.lines).toEqual([heading, '  widgets.v1.example.com   2 objects   create'])
  pass(0.5)
  settle(display, 2)
  pass(0.1)
  expect(screen.lines.slice(2)).toEqual(['Caught up with 2 objects in 0.5 s: 2 created.'])
  pass(100)
  expect(screen.lines).toHaveLength(3)
  display.end()
  expect(screen.lines).toHaveLength(3)
})

test('where there was nothing, there is nothing to tell', () => {
  const display = begin(0)
  pass(5)
  display.end()
  expect(screen.lines).toEqual([heading, '  widgets.v1.example.com   0 objects   create'])
})

test('few objects never have a bar, however long they take', () => {
  const display = begin(29)
  pass(120)
  settle(display, 20)
  pass(1)
  expect(screen.lines).toHaveLength(2)
  settle(display, 9, 'failed')
  pass(0.1)
  expect(screen.lines.slice(2)).toEqual(['Caught up with 29 objects in 2 min 1 s: 20 created, 9 failed.'])
})

test('many have one after a second, which goes when they are done', () => {
  const display = begin(100)
  pass(0.9)
  expect(screen.lines).toHaveLength(2)
  settle(display, 10)
  pass(0.3)
  expect(screen.lines.slice(2)).toEqual(['▕███                           ▏ 10 of 100 handled'])
  settle(display, 40)
  pass(1)
  expect(screen.lines.at(-1)).toBe('▕███████████████               ▏ 50 of 100 handled, 2.2 s left')
  settle(display, 50)
  pass(0.1)
  expect(screen.lines.slice(2)).toEqual(['Caught up with 100 objects in 2.2 s: 100 created.'])
})

test('it is drawn ten times a second at most, however much happens', () => {
  const display = begin(1000)
  pass(1.5)
  writes = 0
  for (let moment = 0; moment < 90; moment += 1) {
    settle(display, 10)
    pass(0.01)
  }
  expect(writes).toBeGreaterThan(5)
  expect(writes).toBeLessThanOrEqual(10)
})

test('the last ones that take for ever are not waited for', () => {
  const display = begin(100)
  pass(2)
  settle(display, 99)
  pass(59)
  expect(screen.lines.at(-1)).toContain('99 of 100 handled')
  pass(2)
  expect(screen.lines.slice(2)).toEqual([
    expect.stringMatching(/^Caught up with 99 objects in 1 min 2 s: 99 created, 1 still under way\.$/),
  ])
  settle(display, 1)
  pass(10)
  display.end()
  expect(screen.lines).toHaveLength(3)
})

test('but half of them are', () => {
  const display = begin(100)
  pass(2)
  settle(display, 50)
  pass(120)
  expect(screen.lines.at(-1)).toContain('50 of 100 handled')
  display.end()
})

test('what comes later, such as in another namespace, is told of only where it takes long', () => {
  const display = begin(1)
  settle(display, 1)
  pass(1)
  find(display, 50)
  settle(display, 50)
  pass(5)
  expect(screen.lines).toHaveLength(3)
  find(display, 50)
  pass(3)
  expect(screen.lines.at(-1)).toContain('0 of 50 handled')
  settle(display, 50, 'resumed')
  pass(1)
  expect(screen.lines.slice(3)).toEqual([expect.stringMatching(/^Caught up with 50 objects in 3\.\d s: 50 resumed\.$/)])
})

test('while lists take their time, it says how far they are; whoever does not answer is not waited for', () => {
  const display = open()
  display.account.served(widgets, ['create'])
  display.account.served(pods, ['event'])
  find(display, 3)
  display.account.listed(widgets, 3)
  pass(0.5)
  expect(screen.lines).toEqual([])
  pass(1)
  expect(screen.lines).toEqual(['Listing what is there: 1 of 2 resources, 3 objects'])
  settle(display, 3)
  pass(10)
  expect(screen.lines).toEqual([
    heading,
    '  widgets.v1.example.com    3 objects   create',
    '  pods.v1                  not listed   event',
    'Caught up with 3 objects in 1.5 s: 3 created.',
  ])
  display.listed()
  expect(screen.lines).toHaveLength(4)
})

test('before anything is watched, nothing is said', () => {
  const display = open()
  pass(60)
  expect(screen.lines).toEqual([])
  display.end()
  expect(screen.lines).toEqual([])
})

test('without a title, only what takes long is told of', () => {
  const quick = begin(100, {})
  settle(quick, 100)
  pass(5)
  expect(screen.lines).toEqual([])
  quick.end()
  const slow = begin(100, {})
  pass(2)
  expect(screen.lines).toEqual([expect.stringContaining('0 of 100 handled')])
  settle(slow, 100)
  pass(0.1)
  expect(screen.lines).toEqual(['Caught up with 100 objects in 2.0 s: 100 created.'])
})

test('whoever stops it in the middle reads at the end how far it was', () => {
  const display = begin(100)
  pass(2)
  settle(display, 30)
  display.fold()
  expect(screen.lines).toHaveLength(2)
  pass(5)
  stream.write('A handler has finished\n')
  display.end()
  display.end()
  expect(screen.lines.slice(2)).toEqual([
    'A handler has finished',
    'Stopped after 30 of 100 objects: the rest is for the next start.',
  ])
})
