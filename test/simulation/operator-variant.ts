/** The random variant of the operator and of its resource. */

import type { Random } from './random.ts'
import { castParts, type Part } from './simulated-daemons.ts'

export interface Nature {
  readonly hasStatusEndpoint: boolean
  readonly hasEventHandlers: boolean
  readonly hasChanges: boolean
  readonly hasCleanup: boolean
  /** All handlers filter by the same label, which becomes the label selector of the watch. */
  readonly isNarrow: boolean
  /** Requests have a short timeout and are retried. */
  readonly isImpatient: boolean
  readonly hasIndices: boolean
  /** Objects are listed in pages, not streamed. */
  readonly isPaged: boolean
  readonly parts: readonly Part[]
  /** Children are created in groups. */
  readonly isOrdered: boolean
}

/** With daemons and timers, change handlers may be missing, and different handlers need the finalizer. */
export function drawNature(
  random: Random,
  { hasBackground, hasChildren = false }: { readonly hasBackground: boolean; readonly hasChildren?: boolean },
): Nature {
  const dice = random.fork('nature')
  const common = { hasStatusEndpoint: dice.chance(0.7), hasEventHandlers: dice.chance(0.3) }
  const plain = { isNarrow: false, isImpatient: false, hasIndices: false, isPaged: false, parts: [], isOrdered: false }
  if (hasChildren) {
    const drawn = { hasCleanup: dice.chance(0.5), isOrdered: dice.chance(0.5), isPaged: dice.chance(0.4) }
    return { ...common, ...plain, hasChanges: false, ...drawn }
  }
  if (!hasBackground) return { ...common, hasChanges: true, hasCleanup: true, ...plain }
  const kind = dice.pick(['full', 'unheld', 'unheld', 'alone', 'narrow'])
  const isNarrow = kind === 'narrow'
  return {
    ...common,
    hasEventHandlers: common.hasEventHandlers && !isNarrow,
    hasChanges: kind === 'full' || kind === 'unheld',
    hasCleanup: kind === 'full',
    isNarrow,
    isImpatient: dice.chance(0.5),
    hasIndices: dice.chance(0.6),
    isPaged: dice.chance(0.4),
    parts: castParts(dice, isNarrow),
    isOrdered: false,
  }
}
