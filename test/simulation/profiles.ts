/** Which world a seed is the seed of: its name says what can go wrong in it, its number is chance. */
import { type FaultName, faultNames, innerFaultNames } from './weather.ts'
import type { WorldOptions } from './world.ts'

interface Profile {
  readonly faults: readonly FaultName[]
  readonly isMortal: boolean
}

/** Handlers of changes alone; by the first word of a seed. */
export const profiles: ReadonlyMap<string, Profile> = new Map<string, Profile>([
  ['calm', { faults: [], isMortal: false }],
  ['kill', { faults: [], isMortal: true }],
  ...faultNames.map((fault) => [fault, { faults: [fault], isMortal: false }] as const),
  ['all', { faults: faultNames, isMortal: true }],
])

/** With daemons and timers; by the second word of a seed that begins with `background`. */
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
  // Every fourth world has handlers that neither fail nor take time.
  return { seed, ...profile, steps: 60, objects: 6, isRough: Number(number) % 4 !== 0, hasBackground, hasChildren }
}
