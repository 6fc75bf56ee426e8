/**
 * The indices of simulated operators, and what must be in them.
 *
 * - I1: when all is quiet, what the objects say that are there, and nothing else: deletions that nobody saw are noticed.
 * - I2: before the first handler of a process is called, all objects that were there before it began.
 */
import type { Index, Operator } from 'kopf'
import type { Twin } from './driver.ts'
import { text } from './handlers.ts'
import type { World } from './world.ts'

export interface Indices {
  /** The uids and sizes of all objects that the operator sees, by a label. */
  readonly tiers: Index<string, string>
  /** The uids of those that match a filter, each by itself. */
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
  // From a server that has not caught up, nobody can know.
  if (indices === undefined || options.faults.includes('stale')) return
  const indexed = new Set([...indices.tiers.values()].flatMap((values) => values.map((value) => value.split(' ')[0])))
  const isDue = (twin: Twin) => {
    // Of what is being deleted, it is not known here whether it is still there.
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
