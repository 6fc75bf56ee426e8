/** What kind of operator, and of resource, a world is about. */
import { castParts, type Part } from './parts.ts'
import type { Random } from './random.ts'

export interface Nature {
  readonly hasStatusEndpoint: boolean
  readonly isSpied: boolean
  readonly hasChanges: boolean
  readonly hasCleanup: boolean
  /** All handlers want the same label: the server is asked for nothing else. */
  readonly isNarrow: boolean
  /** It gives up requests soon, and has to come back to them. */
  readonly isImpatient: boolean
  readonly hasIndices: boolean
  /** Objects are listed in pages, not streamed. */
  readonly isPaged: boolean
  readonly parts: readonly Part[]
  /** Children are made one group after the other. */
  readonly isOrdered: boolean
}

/** With daemons and timers, handlers of changes may be missing, and what needs the finalizer is not always the same. */
export function drawNature(
  random: Random,
  { hasBackground, hasChildren = false }: { readonly hasBackground: boolean; readonly hasChildren?: boolean },
): Nature {
  const dice = random.fork('nature')
  const common = { hasStatusEndpoint: dice.chance(0.7), isSpied: dice.chance(0.3) }
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
    isSpied: common.isSpied && !isNarrow,
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
