import { expect, test } from 'vitest'
import { detectAbilities, type TerminalVariables } from './colours.ts'

test.each<[TerminalVariables, { hasColours: boolean; canRedraw: boolean }]>([
  [{ TERM: 'xterm-256color' }, { hasColours: true, canRedraw: true }],
  [{}, { hasColours: true, canRedraw: true }],
  [{ NO_COLOR: '1' }, { hasColours: false, canRedraw: true }],
  [{ NO_COLOR: '0' }, { hasColours: false, canRedraw: true }],
  [{ NO_COLOR: '' }, { hasColours: true, canRedraw: true }],
  [
    { NO_COLOR: '1', FORCE_COLOR: '1' },
    { hasColours: false, canRedraw: true },
  ],
  [{ FORCE_COLOR: '0' }, { hasColours: false, canRedraw: true }],
  [{ FORCE_COLOR: '' }, { hasColours: true, canRedraw: true }],
  [{ TERM: 'dumb' }, { hasColours: false, canRedraw: false }],
  [
    { TERM: 'dumb', FORCE_COLOR: '1' },
    { hasColours: true, canRedraw: false },
  ],
  [{ CI: 'true' }, { hasColours: true, canRedraw: false }],
  [{ CI: 'false' }, { hasColours: true, canRedraw: true }],
  [{ CI: '' }, { hasColours: true, canRedraw: true }],
])('a terminal with the environment %o has the abilities %o', (variables, expected) => {
  expect(detectAbilities(true, variables)).toEqual({ ...expected, isTerminal: true })
  expect(detectAbilities(false, variables)).toEqual({ hasColours: false, canRedraw: false, isTerminal: false })
})
