import { expect, test } from 'vitest'
import { createLogSink, type LogFormat, type LogLevel } from '../../util/log/log.ts'
import { createPalette, paintLine } from './colours.ts'

function lineOf(format: LogFormat, level: LogLevel, message: string, error?: Error): string {
  const lines: string[] = []
  const sink = createLogSink({ format, debug: true, write: (line) => lines.push(line) })
  sink.log({
    level,
    name: 'kopf.objects',
    source: 'framework',
    message,
    object: { name: 'a' },
    ...(error && { fields: { error } }),
  })
  return lines.join('')
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'fatal']

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches colour escapes
const colours = /\u001b\[\d+m/g

test.each([
  ['debug', '\u001b[2m[DEBUG   ] [a] so\u001b[22m\n'],
  ['info', '[INFO    ] [a] so\n'],
  ['warn', '\u001b[33m[WARNING ] [a] so\u001b[39m\n'],
  ['error', '\u001b[31m[ERROR   ] [a] so\u001b[39m\n'],
  ['fatal', '\u001b[31m[CRITICAL] [a] so\u001b[39m\n'],
] as const)('a log line of level %s is painted in the colour of its level, after a dimmed prefix', (level, rest) => {
  const [before, start, after] = [
    '\u001b[2m',
    /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] kopf\.objects {9}$/,
    '\u001b[22m',
  ]
  const line = paintLine(createPalette(true), lineOf('full', level, 'so'), level)
  const end = line.indexOf(after)
  expect(line.slice(0, before.length)).toBe(before)
  expect(line.slice(before.length, end)).toMatch(start)
  expect(line.slice(end + after.length)).toBe(rest)
})

test.each([
  ['debug', '\u001b[2mDEBUG \u001b[22m\u001b[1ma\u001b[22m\u001b[2m  so\u001b[22m\n'],
  ['info', '\u001b[32mINFO  \u001b[39m\u001b[1ma\u001b[22m  so\n'],
  ['warn', '\u001b[33mWARN  \u001b[39m\u001b[1ma\u001b[22m\u001b[33m  so\u001b[39m\n'],
  ['error', '\u001b[31mERROR \u001b[39m\u001b[1ma\u001b[22m\u001b[31m  so\u001b[39m\n'],
] as const)('a short log line of level %s has a dimmed time, a painted level and a bold object', (level, rest) => {
  const line = paintLine(createPalette(true), lineOf('short', level, 'so'), level)
  expect(line.replace(/\d\d:\d\d:\d\d/, 'time')).toBe(`\u001b[2mtime \u001b[22m${rest}`)
})

test('a painted log line keeps its text in every format and at every level', () => {
  for (const format of ['short', 'full', 'plain'] as const) {
    for (const level of levels) {
      for (const error of [undefined, new Error('why')]) {
        const line = lineOf(format, level, '[x] odd [INFO    ] text', error)
        expect(paintLine(createPalette(true), line, level).replace(colours, '')).toBe(line)
        expect(paintLine(createPalette(false), line, level)).toBe(line)
      }
    }
  }
})

test('the stack of an error is dimmed line by line', () => {
  const painted = paintLine(createPalette(true), lineOf('plain', 'error', 'Oh', new Error('why')), 'error')
  const [first, second, third] = painted.split('\n')
  expect(first).toBe('\u001b[31m[a] Oh\u001b[39m')
  expect(second).toBe('\u001b[2mError: why\u001b[22m')
  expect(third!.startsWith('\u001b[2m    at ') && third!.endsWith('\u001b[22m')).toBe(true)
})
