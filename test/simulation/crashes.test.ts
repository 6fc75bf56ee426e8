/** A crash before and after single calls of the API: the life of a few objects, as often as there are calls in it, twice. */
import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import type { WorldOptions } from './world.ts'

const scenario: WorldOptions = {
  seed: 'crash-1',
  faults: [],
  isMortal: false,
  isRough: true,
  steps: 16,
  objects: 2,
  hasBackground: false,
}

/**
 * Of the calls, every so many: all of them take minutes. `npm test` takes some, and `npm run test:simulation` many more. With daemons and
 * timers each run takes longer, and there are more calls.
 */
const every = Number(process.env['KOPF_SIM_CRASH_EVERY'] ?? 12)
const everyInBackground = 8 * every

const accompanied: WorldOptions = { ...scenario, seed: 'crash-24', hasBackground: true }

async function crashEverywhere(options: WorldOptions, manner: 'kill' | 'stop', every: number): Promise<void> {
  const { calls, violations } = await simulate(options)
  expect(violations).toEqual([])
  expect(calls).toBeGreaterThan(20)
  const broken: string[] = []
  for (let call = 1; call <= calls; call += every) {
    for (const moment of ['before', 'after'] as const) {
      const outcome = await simulate({ ...options, crash: { call, moment, manner } })
      expect(outcome.processes).toBe(2)
      broken.push(...outcome.violations.map(({ property, what }) => `${moment} call ${call}: ${property}: ${what}`))
    }
  }
  expect(broken).toEqual([])
}

test('a crash at any moment is made up for', async () => {
  await crashEverywhere(scenario, 'kill', every)
}, 120_000)

test('with children, too: before and after each of them is applied and deleted', async () => {
  await crashEverywhere({ ...scenario, seed: 'crash-3', hasChildren: true }, 'kill', every)
}, 600_000)

test('with daemons and timers, too', async () => {
  await crashEverywhere(accompanied, 'kill', everyInBackground)
}, 600_000)

test('and so is an orderly end', async () => {
  await crashEverywhere(accompanied, 'stop', everyInBackground)
}, 600_000)
