/**
 * What differs between two states, as the 4-tuples that handlers get as `diff`, and the part of it that concerns one
 * field. Pure, and without recursion: whoever writes an object decides how deep it is.
 */
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath } from '../util/json/paths.ts'
import type { Diff, DiffItem, DiffOperation, Essence } from './cause.ts'
import { ConcealedValue } from './concealed-value.ts'
import { digestEssence, isDigestEssence } from './essence.ts'

/** A path from the end to the beginning: written out only for what goes into the diff. */
interface DiffPlace {
  readonly parent: DiffPlace | undefined
  readonly key: string
  /** Path keys that an item here uses up: those before its own. */
  readonly cost: number
  /** Path keys that this path uses up in each path that begins with it. */
  readonly weight: number
}

const root: Pick<DiffPlace, 'cost' | 'weight'> = { cost: 0, weight: 0 }

interface DiffPair {
  readonly place: DiffPlace | undefined
  readonly old: unknown
  readonly new: unknown
}

/**
 * The keys in the paths of one diff are limited, because their sum grows with the square of the depth: an object of 180 KB with
 * 9,000 levels and a difference at each needs 40 million. Each compared field pays for one path of this many keys, so the limit is
 * linear in the object, and objects of at most this depth are always compared to the end.
 */
const pathKeysPerField = 16
/** A longer key counts as several in the paths below it: each of them repeats the key when a diff is written out or sent to a thread. */
const keyLength = 64
/** Path keys for every diff, so that small objects are compared to the end at any depth that people write: 0.8 MB. */
const minPathKeys = 100_000

/** One comparison under way. */
interface DiffWalk {
  readonly items: DiffItem[]
  readonly pending: DiffPair[]
  /** Path keys that may still be used. Those of the pending pairs are already taken off. */
  pathKeys: number
}

/**
 * The differences in depth-first order; of each object the added keys, then the removed, then those within common keys.
 * Null is as good as absent. Lists are compared as a whole; so are objects for whose fields no path keys are left.
 */
export function diffValues(old: unknown, current: unknown): Diff {
  const whole: DiffPair = { place: undefined, old: old ?? undefined, new: current ?? undefined }
  const comparison: DiffWalk = { items: [], pending: [whole], pathKeys: minPathKeys }
  for (let pair = comparison.pending.pop(); pair !== undefined; pair = comparison.pending.pop()) {
    comparePair(comparison, pair)
  }
  return comparison.items
}

function comparePair(comparison: DiffWalk, pair: DiffPair): void {
  const { cost, weight } = pair.place ?? root
  if (isPlainObject(pair.old) && isPlainObject(pair.new)) {
    const fields = differingFields(pair.old, pair.new)
    const afterwards = comparison.pathKeys + cost + pathKeysPerField * fields.compared - (weight + 1) * fields.count
    if (afterwards >= 0) {
      comparison.pathKeys = afterwards
      addFields(comparison, pair.place, fields)
      return
    }
  }
  if (isSame(pair.old, pair.new)) comparison.pathKeys += cost
  else comparison.items.push(toItem(pair))
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

type DiffFields = { readonly [key: string]: unknown }

type DiffField = readonly [key: string, old: unknown, current: unknown]

/** The fields of two objects that differ or may differ. Null is undefined here. */
interface DifferingFields {
  readonly added: readonly DiffField[]
  readonly removed: readonly DiffField[]
  readonly common: readonly DiffField[]
  /** How many of the above. */
  readonly count: number
  /** How many fields there are, of both objects together. */
  readonly compared: number
}

function differingFields(old: DiffFields, current: DiffFields): DifferingFields {
  const added: DiffField[] = []
  const removed: DiffField[] = []
  const common: DiffField[] = []
  const newKeys = Object.keys(current)
  for (const key of newKeys) {
    const value = current[key] ?? undefined
    if (!Object.hasOwn(old, key) && value !== undefined) added.push([key, undefined, value])
  }
  const oldKeys = Object.keys(old)
  for (const key of oldKeys) {
    const before = old[key] ?? undefined
    const after = Object.hasOwn(current, key) ? (current[key] ?? undefined) : undefined
    if (before === after) continue
    if (Object.hasOwn(current, key)) common.push([key, before, after])
    else removed.push([key, before, undefined])
  }
  const count = added.length + removed.length + common.length
  return { added, removed, common, count, compared: newKeys.length + oldKeys.length }
}

function addFields({ items, pending }: DiffWalk, parent: DiffPlace | undefined, fields: DifferingFields): void {
  const cost = (parent ?? root).weight + 1
  const toPair = ([key, old, current]: DiffField): DiffPair => {
    const weight = cost + Math.floor(key.length / keyLength)
    return { place: { parent, key, cost, weight }, old, new: current }
  }
  for (const field of fields.added) items.push(toItem(toPair(field)))
  for (const field of fields.removed) items.push(toItem(toPair(field)))
  // The last in is the first out.
  for (const field of fields.common.toReversed()) pending.push(toPair(field))
}

/**
 * Whether a diff of the two values would be empty: as `isDeepEqual`, but null equals absent outside of lists. The field filters use
 * it (handling/select.ts), so that a handler of a changed field never gets an empty diff.
 */
export function isSame(old: unknown, current: unknown): boolean {
  const pending: Array<readonly [unknown, unknown]> = [[old, current]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [before, after] = [next[0] ?? undefined, next[1] ?? undefined]
    if (before === after) continue
    if (before instanceof ConcealedValue) {
      if (!before.matches(after)) return false
      continue
    }
    if (!isPlainObject(before) || !isPlainObject(after)) {
      if (!isDeepEqual(before, after)) return false
      continue
    }
    const { added, removed, common } = differingFields(before, after)
    if (added.length > 0 || removed.length > 0) return false
    for (const [, left, right] of common) pending.push([left, right])
  }
  return true
}

function toItem({ place, old, new: current }: DiffPair): DiffItem {
  const operation: DiffOperation = old === undefined ? 'add' : current === undefined ? 'remove' : 'change'
  const path: string[] = []
  for (let step = place; step !== undefined; step = step.parent) path.push(step.key)
  return [operation, path.reverse(), old, current]
}
