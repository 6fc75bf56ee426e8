/** A crash before and after every single call of the API: the life of a few objects, as often as there are calls in it, twice. */
import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import type { WorldOptions } from './world.ts'

const every = Number(process.env['KOPF_SIM_CRASH_EVERY'] ?? 1)

const scenario: WorldOptions = {
  seed: 'crash-1',
  faults: [],
  isMortal: false,
  isRough: true,
  steps: 16,
  objects: 2,
}

test('a crash at any moment is made up for', async () => {
  const { calls, violations } = await simulate(scenario)
  expect(violations).toEqual([])
  expect(calls).toBeGreaterThan(20)
  const broken: string[] = []
  for (let call = 1; call <= calls; call += every) {
    for (const moment of ['before', 'after'] as const) {
      const outcome = await simulate({ ...scenario, crash: { call, moment } })
      expect(outcome.processes).toBe(2)
      broken.push(...outcome.violations.map(({ property, what }) => `${moment} call ${call}: ${property}: ${what}`))
    }
  }
  expect(broken).toEqual([])
}, 120_000)
