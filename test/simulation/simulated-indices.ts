/**
 * The indices of simulated operators, and the checks of their content.
 *
 * - I1: after the simulation has settled, the indices have exactly the existing objects, including the effect of missed deletions.
 * - I2: before the first handler call of a process, the indices have all objects that existed at its start.
 */
import type { Index, Operator } from 'kopf'
import type { Twin } from './simulated-edits.ts'
import { text } from './simulated-handlers.ts'
import type { World } from './simulated-world.ts'

export interface Indices {
  /** The uids and sizes of all visible objects by a label. */
  readonly tiers: Index<string, string>
  /** The uids of the objects that match a filter. */
  readonly golds: Index<string, boolean>
}

interface Indexed {
  readonly uid: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Readonly<Record<string, unknown>>
}

const gold = { labels: { tier: 'gold' } }

export function addIndices(kopf: Operator, widgets: readonly [string, string, string], isNarrow: boolean): Indices {
  const filter = isNarrow ? gold : {}
  return {
    tiers: kopf.index(widgets, { id: 'tiers', ...filter }, (args) => [pairOf(args as unknown as Indexed)]),
    golds: kopf.index(widgets, { id: 'golds', ...gold }, ({ uid }) => [[uid, true]]),
  }
}

function pairOf({ uid, labels, spec }: Indexed): readonly [string, string] {
  return [labels['tier'] ?? 'none', `${uid} ${spec['size'] ?? 'none'}`]
}

/** I1 */
export function checkIndices({ process, nature, journal }: World, twins: readonly Twin[]): void {
  const { indices } = process
  if (indices === undefined) return
  const golds = twins.filter(isGold)
  const expected = (nature.isNarrow ? golds : twins).map(pairOf)
  const pairs = [...indices.tiers].flatMap(([key, values]) => values.map((value) => [key, value] as const))
  const are = [pairs.map(text).sort(), [...indices.golds.keys()].sort()]
  const ought = [expected.map(text).sort(), golds.map(({ uid }) => uid).sort()]
  if (text(are) !== text(ought)) journal.violate('I1', `in the indices is ${text(are)}, not ${text(ought)}`)
}

/** I2 */
export function checkCompleteness({ process, nature, journal, driver, options }: World): void {
  const { indices, startedAt } = process
  // A server that is behind does not have all objects.
  if (indices === undefined || options.faults.includes('stale')) return
  const indexed = new Set([...indices.tiers.values()].flatMap((values) => values.map((value) => value.split(' ')[0])))
  const isDue = (twin: Twin) => {
    // An object that is being deleted may already be gone.
    if (twin.isDeleting) return false
    const [first, last] = [twin.states[0]!, twin.states.at(-1)!]
    return first.version <= startedAt && (!nature.isNarrow || (last.version <= startedAt && isGold(last)))
  }
  const missing = [...driver.alive.values()].filter((twin) => isDue(twin) && !indexed.has(twin.uid))
  for (const { name } of missing) journal.violate('I2', `a handler is called before ${name} is in the indices`)
}

function isGold({ labels }: Pick<Indexed, 'labels'>): boolean {
  return labels['tier'] === 'gold'
}
