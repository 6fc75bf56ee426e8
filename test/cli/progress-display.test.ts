/** The progress display of a run: its content and its timing. Quick starts show no progress bar. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPalette } from '../../src/cli/display/colours.ts'
import { Display, type DisplayOptions } from '../../src/cli/display/display.ts'
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
  for (let number = 0; number < count; number += 1) display.progress.objectFound()
}

function settle(display: Display, count: number, outcome: ObjectOutcome = 'created'): void {
  for (let number = 0; number < count; number += 1) display.progress.objectHandled({ outcome: outcome })
}

/** A display of a connected operator that has listed this number of objects. */
function begin(count: number, options?: Partial<DisplayOptions>): Display {
  const display = open(options)
  display.progress.connected({ server: undefined })
  display.progress.resourceServed({ resource: widgets, handlerTypes: ['create'] })
  find(display, count)
  display.progress.listed({ resource: widgets, objects: count })
  display.listed()
  return display
}

test('the display lists the watched resources at once, and sums up when all objects are handled', () => {
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

test('the display prints no summary if there are no objects', () => {
  const display = begin(0)
  pass(5)
  display.end()
  expect(screen.lines).toEqual([heading, '  widgets.v1.example.com   0 objects   create'])
})

test('the display draws no progress bar for few objects', () => {
  const display = begin(29)
  pass(120)
  settle(display, 20)
  pass(1)
  expect(screen.lines).toHaveLength(2)
  settle(display, 9, 'failed')
  pass(0.1)
  expect(screen.lines.slice(2)).toEqual(['Caught up with 29 objects in 2 min 1 s: 20 created, 9 failed.'])
})

test('the display draws a progress bar for many objects after a second, and removes it at the end', () => {
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

test('the display is redrawn at most ten times a second', () => {
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

test('the display sums up without the last few objects if they take very long', () => {
  const display = begin(100)
  pass(2)
  settle(display, 99)
  pass(59)
  expect(screen.lines.at(-1)).toContain('99 of 100 handled')
  pass(2)
  expect(screen.lines.slice(2)).toEqual([
    expect.stringMatching(/^Caught up with 99 objects in 1 min 2 s: 99 created, 1 in progress\.$/),
  ])
  settle(display, 1)
  pass(10)
  display.end()
  expect(screen.lines).toHaveLength(3)
})

test('the display does not sum up while half of the objects are not handled', () => {
  const display = begin(100)
  pass(2)
  settle(display, 50)
  pass(120)
  expect(screen.lines.at(-1)).toContain('50 of 100 handled')
  display.end()
})

test('the display shows objects that are listed later only if they take long', () => {
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

test('the display shows the progress of slow lists, and does not wait for a list that never ends', () => {
  const display = open()
  display.progress.resourceServed({ resource: widgets, handlerTypes: ['create'] })
  display.progress.resourceServed({ resource: pods, handlerTypes: ['event'] })
  find(display, 3)
  display.progress.listed({ resource: widgets, objects: 3 })
  pass(0.5)
  expect(screen.lines).toEqual([])
  pass(1)
  expect(screen.lines).toEqual(['Listing existing objects: 1 of 2 resources, 3 objects'])
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

test('the display shows nothing before a resource is watched', () => {
  const display = open()
  pass(60)
  expect(screen.lines).toEqual([])
  display.end()
  expect(screen.lines).toEqual([])
})

test('the display without a title shows only what takes long', () => {
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

test('the display of a stopped run says how many objects were handled', () => {
  const display = begin(100)
  pass(2)
  settle(display, 30)
  display.hide()
  expect(screen.lines).toHaveLength(2)
  pass(5)
  stream.write('A handler has finished\n')
  display.end()
  display.end()
  expect(screen.lines.slice(2)).toEqual([
    'A handler has finished',
    'Stopped after 30 of 100 objects: the others are handled at the next start.',
  ])
})
