/** The options of a seed: its name selects the faults, its number the random numbers. */
import { type FaultName, faultNames, innerFaultNames } from './random-faults.ts'
import type { WorldOptions } from './simulated-world.ts'

interface Profile {
  readonly faults: readonly FaultName[]
  readonly isMortal: boolean
}

/** Profiles with change handlers only, by the first word of a seed. */
export const profiles: ReadonlyMap<string, Profile> = new Map<string, Profile>([
  ['calm', { faults: [], isMortal: false }],
  ['kill', { faults: [], isMortal: true }],
  ...faultNames.map((fault) => [fault, { faults: [fault], isMortal: false }] as const),
  ['all', { faults: faultNames, isMortal: true }],
])

/** Profiles with daemons and timers, by the second word of a seed that starts with `background`. */
export const backgroundProfiles: ReadonlyMap<string, Profile> = new Map<string, Profile>([
  ...profiles,
  ...innerFaultNames.map((fault) => [fault, { faults: [fault], isMortal: false }] as const),
  ['all', { faults: [...faultNames, ...innerFaultNames], isMortal: true }],
])

export function optionsOf(seed: string): WorldOptions {
  const [, prefix, name = '', number = ''] = /^(background-|children-)?(\w+)-(\d+)$/.exec(seed) ?? []
  const hasBackground = prefix === 'background-'
  const hasChildren = prefix === 'children-'
  const profile = (hasBackground ? backgroundProfiles : profiles).get(name)
  if (profile === undefined) {
    const names = [...backgroundProfiles.keys()].join(', ')
    throw new Error(`A seed is "background-", "children-" or nothing, one of ${names}, "-" and a number`)
  }
  // In every fourth simulation, handlers neither fail nor take time.
  return { seed, ...profile, steps: 60, objects: 6, isRough: Number(number) % 4 !== 0, hasBackground, hasChildren }
}
