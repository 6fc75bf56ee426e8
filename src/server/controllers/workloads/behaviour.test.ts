import { expect, test } from 'vitest'
import { parseBehaviour, terminationOfRun } from './behaviour.ts'

const usual = { startAfterMs: 0, readyAfterMs: 0, stopAfterMs: 0 }

test.each([
  [undefined, 'Always', usual],
  [undefined, 'Never', { ...usual, end: { afterMs: 1000, exitCode: 0, times: Infinity } }],
  ['never start', 'Always', { ...usual, startAfterMs: Infinity }],
  ['never ready', 'Always', { ...usual, readyAfterMs: Infinity }],
  [
    'start after 5s, ready after 500ms, stop after 1m',
    'Always',
    { startAfterMs: 5000, readyAfterMs: 500, stopAfterMs: 60_000 },
  ],
  ['run', 'Never', usual],
  ['succeed', 'Always', { ...usual, end: { afterMs: 1000, exitCode: 0, times: Infinity } }],
  ['fail', 'Never', { ...usual, end: { afterMs: 1000, exitCode: 1, times: Infinity } }],
  ['fail after 5s with 137', 'Never', { ...usual, end: { afterMs: 5000, exitCode: 137, times: Infinity } }],
  ['fail with 3 after 5s 2 times', 'Never', { ...usual, end: { afterMs: 5000, exitCode: 3, times: 2 } }],
])('"%s" with the restart policy %s', (text, restartPolicy, expected) => {
  expect(parseBehaviour(text, restartPolicy)).toEqual(expected)
})

test.each([
  '',
  'dance',
  'ready',
  'ready after',
  'ready after soon',
  'ready after 5s with 3',
  'succeed with 0',
  'fail with 0',
  'fail with 256',
  'fail after 5s after 6s',
  'fail 0 times',
  'never ready,',
])('"%s" is not understood', (text) => {
  expect(parseBehaviour(text, 'Always')).toBeUndefined()
})

test('what fails so many times goes on as usual then', () => {
  const behaviour = parseBehaviour('fail 2 times', 'Never')!
  expect([0, 1, 2].map((failures) => terminationOfRun(behaviour, failures, 'Never')?.exitCode)).toEqual([1, 1, 0])
})
