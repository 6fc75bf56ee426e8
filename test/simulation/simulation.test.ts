/**
 * The model of what an operator promises, run beside the framework: by default a fixed set of seeds, a few per fault.
 *
 *     KOPF_SIM_RUNS=200 npx vitest run --project embedded test/simulation    # more seeds of each profile
 *     KOPF_SIM_SEED=kill-22 npx vitest run --project embedded test/simulation    # one again, with its whole story
 */
import { describe, expect, test } from 'vitest'
import { type Outcome, simulate } from './simulate.ts'
import { type FaultName, faultNames } from './weather.ts'
import type { WorldOptions } from './world.ts'

const runs = Number(process.env['KOPF_SIM_RUNS'] ?? 1)
const chosen = process.env['KOPF_SIM_SEED']

interface Profile {
  readonly faults: readonly FaultName[]
  readonly isMortal: boolean
}

/** By the first word of a seed. */
const profiles: ReadonlyMap<string, Profile> = new Map<string, Profile>([
  ['calm', { faults: [], isMortal: false }],
  ['kill', { faults: [], isMortal: true }],
  ...faultNames.map((fault) => [fault, { faults: [fault], isMortal: false }] as const),
  ['all', { faults: faultNames, isMortal: true }],
])

/** Seeds that have once shown a bug of the framework; what it was is in the words after them. */
const remembered: ReadonlyMap<string, string> = new Map([
  ['calm-7', 'records of sub-handlers stayed on the object when their parent was told the rest'],
  ['calm-1', 'handlers saw the object older than what was written while a slow one before them ran'],
  ['conflict-7', 'a sub-handler that was done was not told that the change had been taken back'],
  ['conflict-15', 'a handler was told of a change that it had not seen, and that was taken back'],
  ['conflict-3', 'handlers were called again when a write was refused'],
  ['lost-0', 'a deleted object was cleaned up again and again when only the answer to the last write got lost'],
  ['lost-12', 'handlers were called again for an object that the server had said is not there'],
  ['kill-1', 'objects were not resumed when the process before had resumed them, but had not finished'],
  [
    'kill-235',
    'a handler counted as done for a state it was to be told of, and had not been, when the process was killed',
  ],
  ['invalid-149', 'what was refused was forgotten, although a part of it had been written'],
  ['all-7', 'a watch that never began to answer was noticed only after five minutes'],
])

function optionsOf(seed: string): WorldOptions {
  const [, name = '', number = ''] = /^(\w+)-(\d+)$/.exec(seed) ?? []
  const profile = profiles.get(name)
  if (profile === undefined) throw new Error(`A seed is one of ${[...profiles.keys()].join(', ')}, "-" and a number`)
  // Every fourth world has handlers that neither fail nor take time.
  return { seed, ...profile, steps: 60, objects: 6, isRough: Number(number) % 4 !== 0 }
}

function expectHarmony({ seed, violations, story }: Outcome): void {
  const broken = violations.map(({ property, what }) => `${property}: ${what}`)
  if (broken.length === 0) return
  const replay = `KOPF_SIM_SEED=${seed} npx vitest run --project embedded test/simulation`
  const tale = chosen === undefined ? '' : `\n${story.join('\n')}`
  expect.fail(`${broken.slice(0, 10).join('\n')}\n\nTo see it again: ${replay}${tale}`)
}

if (chosen !== undefined) {
  test(`the world of seed ${chosen}`, async () => expectHarmony(await simulate(optionsOf(chosen))), 60_000)
} else {
  describe.each([...profiles.keys()])('with faults: %s', (name) => {
    const count = name === 'all' || name === 'kill' || name === 'calm' ? 3 * runs : runs
    test.each(Array.from({ length: count }, (_, index) => `${name}-${1000 + index}`))(
      'seed %s',
      async (seed) => expectHarmony(await simulate(optionsOf(seed))),
      60_000,
    )
  })

  test.each([...remembered])('seed %s: %s', async (seed) => expectHarmony(await simulate(optionsOf(seed))), 60_000)

  test('the same seed is the same world', async () => {
    const [first, second] = [await simulate(optionsOf('all-3')), await simulate(optionsOf('all-3'))]
    const uids = /[0-9a-f]{8}-[0-9a-f-]{27}|(?<= )[0-9a-f]{4}(?= |$)/g
    const withoutUids = ({ story }: Outcome) => story.map((line) => line.replaceAll(uids, 'uid'))
    expect(withoutUids(second)).toEqual(withoutUids(first))
    expect({ ...second, story: [] }).toEqual({ ...first, story: [] })
  })

  test('without faults there are few requests for each change, and never more than a few', async () => {
    const outcomes: Outcome[] = []
    for (const seed of ['calm-4', 'calm-8', 'calm-12']) outcomes.push(await simulate(optionsOf(seed)))
    const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
    expect(sum(({ calls }) => calls) / sum(({ changes }) => changes)).toBeLessThan(2)
  })
}
