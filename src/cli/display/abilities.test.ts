import { expect, test } from 'vitest'
import { judgeTerminal, type TerminalVariables } from './abilities.ts'

test.each<[TerminalVariables, { hasColours: boolean; isLively: boolean }]>([
  [{ TERM: 'xterm-256color' }, { hasColours: true, isLively: true }],
  [{}, { hasColours: true, isLively: true }],
  [{ NO_COLOR: '1' }, { hasColours: false, isLively: true }],
  [{ NO_COLOR: '0' }, { hasColours: false, isLively: true }],
  [{ NO_COLOR: '' }, { hasColours: true, isLively: true }],
  [
    { NO_COLOR: '1', FORCE_COLOR: '1' },
    { hasColours: false, isLively: true },
  ],
  [{ FORCE_COLOR: '0' }, { hasColours: false, isLively: true }],
  [{ FORCE_COLOR: '' }, { hasColours: true, isLively: true }],
  [{ TERM: 'dumb' }, { hasColours: false, isLively: false }],
  [
    { TERM: 'dumb', FORCE_COLOR: '1' },
    { hasColours: true, isLively: false },
  ],
  [{ CI: 'true' }, { hasColours: true, isLively: false }],
  [{ CI: 'false' }, { hasColours: true, isLively: true }],
  [{ CI: '' }, { hasColours: true, isLively: true }],
])('on a terminal with %o: %o', (variables, expected) => {
  expect(judgeTerminal(true, variables)).toEqual(expected)
  expect(judgeTerminal(false, variables)).toEqual({ hasColours: false, isLively: false })
})
