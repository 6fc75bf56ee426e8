/** Never two leaders at once, whatever happens to networks, clocks and processes; and soon one again when it is over (F39). */
import { expect, test } from 'vitest'
import { Electorate, times } from './electorate.ts'

const seeds = Array.from({ length: 40 }, (_, index) => `election-${index}`)

test.each(seeds)('never two at once, and one in the end: %s', async (seed) => {
  const electorate = new Electorate(seed, 3)
  for (const replica of electorate.replicas) replica.start()
  await electorate.pass(5)
  expect(electorate.leading).toBe(1)
  await electorate.trouble(240)
  electorate.calm()
  // What was cut off comes back within half a minute, what is held runs out, and then somebody takes it.
  await electorate.pass(75 + times.leaseDurationMs / 500)
  expect(electorate.overlaps).toEqual([])
  expect(electorate.leading).toBe(1)
  const { length } = electorate.leaders
  await electorate.pass(120)
  expect(electorate.leaders).toHaveLength(length)
  for (const replica of electorate.replicas) replica.kill()
})
