/**
 * What differs between two states, as the 4-tuples that handlers get as `diff`, and the part of it that concerns one
 * field. Pure, and without recursion: whoever writes an object decides how deep it is.
 */
import { isDeepEqual } from '../../util/equality.ts'
import { isPlainObject } from '../../util/json.ts'
import { resolvePath } from '../../util/paths.ts'
import type { Diff, DiffItem, DiffOperation, Essence } from './causes.ts'
import { digestEssence, isDigestEssence } from './essence-digest.ts'

/** A path from the end to the beginning: written out only for what goes into the diff. */
interface Place {
  readonly parent: Place | undefined
  readonly key: string
}

interface Pair {
  readonly place: Place | undefined
  readonly old: unknown
  readonly new: unknown
}

/**
 * The differences in depth-first order; of each object the added keys, then the removed, then those within common keys.
 * Null is as good as absent. Lists are compared as a whole.
 */
export function diffValues(old: unknown, current: unknown): Diff {
  const items: DiffItem[] = []
  const pending: Pair[] = [{ place: undefined, old: old ?? undefined, new: current ?? undefined }]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    if (pair.old === pair.new) continue
    if (isPlainObject(pair.old) && isPlainObject(pair.new)) {
      compareFields(pair.place, pair.old, pair.new, items, pending)
    } else if (!isDeepEqual(pair.old, pair.new)) {
      items.push(toItem(pair))
    }
  }
  return items
}

/** The diff of what was handled last and what is there now; undefined for what was never handled. */
export function diffEssences(old: Essence | undefined, current: Essence): Diff {
  if (old === undefined || !isDigestEssence(old)) return diffValues(old, current)
  // Nothing but the digest was kept of an essence too large to store: that it changed is all that can be said.
  return old['kopf.dev/digest'] === digestEssence(current) ? [] : [['change', [], undefined, current]]
}

/** The differences at and below a field, seen from the field. */
export function reduceDiff(diff: Diff, path: readonly string[]): Diff {
  if (path.length === 0) return diff
  return diff.flatMap((item) => reduceItem(item, path))
}

function reduceItem(item: DiffItem, path: readonly string[]): Diff {
  const [operation, field, old, current] = item
  if (path.every((key, index) => field[index] === key)) return [[operation, field.slice(path.length), old, current]]
  // The field came or went together with a parent: what that means for the field itself has to be found out anew.
  if (!field.every((key, index) => path[index] === key)) return []
  const rest = path.slice(field.length)
  return diffValues(resolvePath(old, rest), resolvePath(current, rest))
}

type Fields = { readonly [key: string]: unknown }

function compareFields(
  parent: Place | undefined,
  old: Fields,
  current: Fields,
  items: DiffItem[],
  pending: Pair[],
): void {
  for (const key of Object.keys(current)) {
    if (!Object.hasOwn(old, key)) addItem({ place: { parent, key }, old: undefined, new: current[key] }, items)
  }
  const common: string[] = []
  for (const key of Object.keys(old)) {
    if (Object.hasOwn(current, key)) common.push(key)
    else addItem({ place: { parent, key }, old: old[key], new: undefined }, items)
  }
  // The last in is the first out.
  for (const key of common.reverse()) {
    if (old[key] === current[key]) continue
    pending.push({ place: { parent, key }, old: old[key] ?? undefined, new: current[key] ?? undefined })
  }
}

function addItem(pair: Pair, items: DiffItem[]): void {
  if ((pair.old ?? pair.new ?? undefined) !== undefined) items.push(toItem(pair))
}

function toItem({ place, old, new: current }: Pair): DiffItem {
  const operation: DiffOperation = old === undefined ? 'add' : current === undefined ? 'remove' : 'change'
  const path: string[] = []
  for (let step = place; step !== undefined; step = step.parent) path.push(step.key)
  return [operation, path.reverse(), old, current]
}
