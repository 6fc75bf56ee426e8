/** A crash before and after single API calls: the same scenario of a few objects is repeated with a crash at each call. */
import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import type { WorldOptions } from './simulated-world.ts'

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
 * The step between the tested calls, since all of them take minutes. `npm test` tests some, `npm run test:simulation` many more. With daemons and
 * timers each run takes longer and has more calls.
 */
const every = Number(process.env['KOPF_SIM_CRASH_EVERY'] ?? 20)
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

test('a simulated operator with change handlers recovers from a crash at any API call', async () => {
  await crashEverywhere(scenario, 'kill', every)
}, 120_000)

test('a simulated operator with children recovers from a crash before and after each apply and delete', async () => {
  await crashEverywhere({ ...scenario, seed: 'crash-3', hasChildren: true }, 'kill', every)
}, 600_000)

test('a simulated operator with daemons and timers recovers from a crash at any API call', async () => {
  await crashEverywhere(accompanied, 'kill', everyInBackground)
}, 600_000)

test('a simulated operator with daemons and timers can be stopped at any API call', async () => {
  await crashEverywhere(accompanied, 'stop', everyInBackground)
}, 600_000)
