/** Leader election under faults of networks, clocks and processes: never two leaders at once, and one leader in the end (F39). */
import { expect, test } from 'vitest'
import { Electorate, times } from './simulated-replicas.ts'

/** `npm test` has five minutes and runs some of the seeds; `npm run test:simulation` runs all. */
const length = process.env['KOPF_SIM_RUNS'] === undefined ? 14 : 40
const seeds = Array.from({ length }, (_, index) => `election-${index}`)

test.each(seeds)('simulated replicas never have two leaders, and have one in the end: %s', async (seed) => {
  const electorate = new Electorate(seed, 3)
  for (const replica of electorate.replicas) replica.start()
  await electorate.pass(5)
  expect(electorate.leading).toBe(1)
  await electorate.trouble(240)
  electorate.calm()
  // Connections return within half a minute, the held Lease expires, and then a candidate acquires it.
  await electorate.pass(75 + times.leaseDurationMs / 500)
  expect(electorate.overlaps).toEqual([])
  expect(electorate.leading).toBe(1)
  const { length } = electorate.leaders
  await electorate.pass(120)
  expect(electorate.leaders).toHaveLength(length)
  for (const replica of electorate.replicas) replica.kill()
})
