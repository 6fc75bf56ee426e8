/** The status line at the bottom of the terminal: other output appears above it, in whole lines. */
import { beforeEach, expect, test } from 'vitest'
import { StatusLine, type TerminalStream } from '../../src/cli/display/status-line.ts'
import { Screen } from '../support/screen.ts'

let columns: number
let screen: Screen
let writes: number
let output: TerminalStream
let errors: TerminalStream
let line: StatusLine
beforeEach(() => {
  columns = 20
  writes = 0
  screen = new Screen(columns)
  output = createStream()
  errors = createStream()
  line = new StatusLine(errors, output)
})

/** A stream like stdout of a process: the terminal translates a line feed into carriage return and line feed. */
function createStream(): TerminalStream {
  return {
    isTTY: true,
    getWindowSize: () => [columns, 10],
    write(chunk) {
      writes += 1
      screen.write(
        Buffer.from(chunk as string)
          .toString('utf8')
          .replaceAll('\n', '\r\n'),
      )
      return true
    },
  }
}

function resize(to: number): void {
  columns = to
  screen.resize(to)
}

test('the output of both streams appears above the status line, in one write each', () => {
  errors.write('before\n')
  line.show(() => '[==  ]')
  expect(screen.lines).toEqual(['before', '[==  ]'])
  writes = 0
  output.write('one\n')
  errors.write('two\nthree\n')
  expect(writes).toBe(2)
  expect(screen.lines).toEqual(['before', 'one', 'two', 'three', '[==  ]'])
})

test('the status line replaces its old text, and is not drawn if it has not changed', () => {
  line.show(() => '[====]')
  line.show(() => '[]')
  expect(screen.lines).toEqual(['[]'])
  writes = 0
  line.show(() => '[]')
  expect(writes).toBe(0)
})

test('the status line is rendered again when other output is written', () => {
  let count = 1
  line.show(() => `${count} done`)
  count = 2
  output.write('so\n')
  expect(screen.lines).toEqual(['so', '2 done'])
})

test('the status line is removed completely, and the streams get their own write function back', () => {
  const { write } = output
  line.show(() => 'here')
  expect(output.write).not.toBe(write)
  output.write('one\n')
  line.clear()
  expect(screen.lines).toEqual(['one'])
  expect(screen.column).toBe(0)
  expect(output.write).toBe(write)
  output.write('two\n')
  expect(screen.lines).toEqual(['one', 'two'])
  line.clear()
  line.show(() => 'again')
  expect(screen.lines).toEqual(['one', 'two', 'again'])
})

test('the status line does not break output that is written in pieces', () => {
  line.show(() => 'status')
  output.write('one, ')
  line.show(() => 'status 2')
  output.write('')
  output.write('two, ')
  expect(screen.lines).toEqual(['one, two,'])
  output.write('three\n')
  expect(screen.lines).toEqual(['one, two, three', 'status 2'])
})

test('the status line handles output that is written as bytes', () => {
  line.show(() => 'status')
  output.write(Buffer.from('größer\n'))
  expect(screen.lines).toEqual(['größer', 'status'])
  output.write(Buffer.from('to be '))
  expect(screen.lines).toEqual(['größer', 'to be'])
})

test('the status line does not break lines that are wider than the terminal', () => {
  line.show(() => 'status')
  output.write('a line that takes three rows of this terminal\n')
  line.show(() => 'status 2')
  expect(screen.lines).toEqual(['a line that takes three rows of this terminal', 'status 2'])
})

test('the colours of the status line are reset and do not count as width', () => {
  line.show((width) => `\u001b[32m${'='.repeat(width - 1)}\u001b[39m`)
  output.write('one\n')
  expect(screen.lines).toEqual(['one', '='.repeat(19)])
  expect(screen.isPlain).toBe(true)
})

test.each([7, 12, 20, 50])('the status line leaves no remains in a terminal that is resized to %d columns', (width) => {
  output.write('before\n')
  line.show((most) => '='.repeat(most - 1))
  resize(width)
  output.write('one\n')
  expect(screen.lines).toEqual(['before', 'one', '='.repeat(width - 1)])
  resize(20)
  line.clear()
  expect(screen.lines).toEqual(['before', 'one'])
})

test('the status line does not patch a stream that is not a terminal', () => {
  const file = { ...createStream(), isTTY: false }
  const { write } = file
  const other = new StatusLine(errors, file)
  other.show(() => 'status')
  expect(file.write).toBe(write)
  other.clear()
})

test('the width of a terminal that does not report one is 80', () => {
  columns = 0
  expect(line.columns).toBe(80)
})
