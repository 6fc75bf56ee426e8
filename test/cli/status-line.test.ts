/** The line at the bottom of the terminal: whatever is written meanwhile comes above it, whole. */
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

/** As of a process: the terminal makes two characters of a line's end. */
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

test('what is written appears above it, from whichever stream it comes, in one go', () => {
  errors.write('before\n')
  line.show(() => '[==  ]')
  expect(screen.lines).toEqual(['before', '[==  ]'])
  writes = 0
  output.write('one\n')
  errors.write('two\nthree\n')
  expect(writes).toBe(2)
  expect(screen.lines).toEqual(['before', 'one', 'two', 'three', '[==  ]'])
})

test('it is drawn over itself, and not at all where nothing is new', () => {
  line.show(() => '[====]')
  line.show(() => '[]')
  expect(screen.lines).toEqual(['[]'])
  writes = 0
  line.show(() => '[]')
  expect(writes).toBe(0)
})

test('it is drawn anew with what is written: as it is then', () => {
  let count = 1
  line.show(() => `${count} done`)
  count = 2
  output.write('so\n')
  expect(screen.lines).toEqual(['so', '2 done'])
})

test('when it goes, nothing of it stays, and the streams are as they were', () => {
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

test('a line that somebody writes in pieces is not broken', () => {
  line.show(() => 'status')
  output.write('one, ')
  line.show(() => 'status 2')
  output.write('')
  output.write('two, ')
  expect(screen.lines).toEqual(['one, two,'])
  output.write('three\n')
  expect(screen.lines).toEqual(['one, two, three', 'status 2'])
})

test('bytes are as good as text', () => {
  line.show(() => 'status')
  output.write(Buffer.from('größer\n'))
  expect(screen.lines).toEqual(['größer', 'status'])
  output.write(Buffer.from('to be '))
  expect(screen.lines).toEqual(['größer', 'to be'])
})

test('lines above that are wider than the terminal stay whole', () => {
  line.show(() => 'status')
  output.write('a line that takes three rows of this terminal\n')
  line.show(() => 'status 2')
  expect(screen.lines).toEqual(['a line that takes three rows of this terminal', 'status 2'])
})

test('colours are put back, and do not count as width', () => {
  line.show((width) => `\u001b[32m${'='.repeat(width - 1)}\u001b[39m`)
  output.write('one\n')
  expect(screen.lines).toEqual(['one', '='.repeat(19)])
  expect(screen.isPlain).toBe(true)
})

test.each([7, 12, 20, 50])('in a terminal that becomes %d columns wide, nothing of the old one stays', (width) => {
  output.write('before\n')
  line.show((most) => '='.repeat(most - 1))
  resize(width)
  output.write('one\n')
  expect(screen.lines).toEqual(['before', 'one', '='.repeat(width - 1)])
  resize(20)
  line.clear()
  expect(screen.lines).toEqual(['before', 'one'])
})

test('a stream that is no terminal is left alone', () => {
  const file = { ...createStream(), isTTY: false }
  const { write } = file
  const other = new StatusLine(errors, file)
  other.show(() => 'status')
  expect(file.write).toBe(write)
  other.clear()
})

test('where nobody knows the width, it is eighty', () => {
  columns = 0
  expect(line.columns).toBe(80)
})
