/**
 * Compares two states: returns the 4-tuples that handlers get as `diff`, and the part of a diff that concerns one field. Pure,
 * and without recursion, because the authors of objects decide how deeply they are nested.
 */
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath } from '../util/json/paths.ts'
import type { Diff, DiffItem, DiffOperation, Essence } from './cause.ts'
import { ConcealedValue } from './concealed-value.ts'
import { createDiffItem } from './diff-item.ts'
import { digestEssence, isDigestEssence } from './essence.ts'

/** A path as a linked list from its end. It is converted to an array only for items of the diff. */
interface DiffPathNode {
  readonly parent: DiffPathNode | undefined
  readonly key: string
  /** The number of path keys that an item at this path consumes: the keys before its own. */
  readonly cost: number
  /** The number of path keys that this path consumes in each longer path. */
  readonly weight: number
}

const root: Pick<DiffPathNode, 'cost' | 'weight'> = { cost: 0, weight: 0 }

interface DiffPair {
  readonly node: DiffPathNode | undefined
  readonly old: unknown
  readonly new: unknown
}

/**
 * The total number of keys in the paths of one diff is limited, because it grows with the square of the depth: an object of 180
 * KB with 9,000 levels and a difference at each level needs 40 million keys. Each compared field adds this many keys to the
 * budget, so the limit is linear in the size of the object, and objects up to this depth are always compared completely.
 */
const pathKeysPerField = 16
/**
 * A longer key counts as several keys in the paths below it, because each of them repeats the key when the diff is printed or
 * sent to a worker thread.
 */
const keyLength = 64
/** The minimum budget of path keys (0.8 MB), so that small objects are compared completely at any realistic depth. */
const minPathKeys = 100_000

/** The state of one comparison. */
interface DiffWalk {
  readonly items: DiffItem[]
  readonly pending: DiffPair[]
  /** The remaining budget of path keys. The keys of the pending pairs are already subtracted. */
  pathKeys: number
}

/**
 * The differences in depth-first order: for each object the added keys, then the removed ones, then the differences within common
 * keys. Null equals absent. Lists are compared as a whole, and so are objects when the budget of path keys is used up.
 */
export function diffValues(old: unknown, current: unknown): Diff {
  const whole: DiffPair = { node: undefined, old: old ?? undefined, new: current ?? undefined }
  const comparison: DiffWalk = { items: [], pending: [whole], pathKeys: minPathKeys }
  for (let pair = comparison.pending.pop(); pair !== undefined; pair = comparison.pending.pop()) {
    comparePair(comparison, pair)
  }
  return comparison.items
}

function comparePair(comparison: DiffWalk, pair: DiffPair): void {
  const { cost, weight } = pair.node ?? root
  if (isPlainObject(pair.old) && isPlainObject(pair.new)) {
    const fields = differingFields(pair.old, pair.new)
    const afterwards = comparison.pathKeys + cost + pathKeysPerField * fields.compared - (weight + 1) * fields.count
    if (afterwards >= 0) {
      comparison.pathKeys = afterwards
      addFields(comparison, pair.node, fields)
      return
    }
  }
  if (isSame(pair.old, pair.new)) comparison.pathKeys += cost
  else comparison.items.push(toItem(pair))
}

/** The diff between the last handled essence and the current one. `old` is undefined for an object that was never handled. */
export function diffEssences(old: Essence | undefined, current: Essence): Diff {
  if (old === undefined || !isDigestEssence(old)) return diffValues(old, current)
  // Only the digest of a large essence is stored. The diff can then show that it has changed, but not where.
  return old['kopf.dev/digest'] === digestEssence(current) ? [] : [createDiffItem('change', [], undefined, current)]
}

/** The differences at and below a field, with paths relative to the field. */
export function reduceDiff(diff: Diff, path: readonly string[]): Diff {
  if (path.length === 0) return diff
  return diff.flatMap((item) => reduceItem(item, path))
}

function reduceItem(item: DiffItem, path: readonly string[]): Diff {
  const [operation, field, old, current] = item
  if (path.every((key, index) => field[index] === key))
    return [createDiffItem(operation, field.slice(path.length), old, current)]
  // The field was added or removed together with its parent. Its own difference is computed from the parent's values.
  if (!field.every((key, index) => path[index] === key)) return []
  const rest = path.slice(field.length)
  return diffValues(resolvePath(old, rest), resolvePath(current, rest))
}

type DiffFields = { readonly [key: string]: unknown }

type DiffField = readonly [key: string, old: unknown, current: unknown]

/** The fields of two objects that differ or may differ. Null counts as undefined. */
interface DifferingFields {
  readonly added: readonly DiffField[]
  readonly removed: readonly DiffField[]
  readonly common: readonly DiffField[]
  /** The number of these fields. */
  readonly count: number
  /** The number of all fields of both objects. */
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

function addFields({ items, pending }: DiffWalk, parent: DiffPathNode | undefined, fields: DifferingFields): void {
  const cost = (parent ?? root).weight + 1
  const toPair = ([key, old, current]: DiffField): DiffPair => {
    const weight = cost + Math.floor(key.length / keyLength)
    return { node: { parent, key, cost, weight }, old, new: current }
  }
  for (const field of fields.added) items.push(toItem(toPair(field)))
  for (const field of fields.removed) items.push(toItem(toPair(field)))
  // The pending pairs are a stack: last in, first out.
  for (const field of fields.common.toReversed()) pending.push(toPair(field))
}

/**
 * Whether a diff of the two values would be empty: like `isDeepEqual`, but null equals absent outside of lists. The field filters
 * (handlers/matching.ts) use it, so that a handler of a changed field never gets an empty diff.
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

function toItem({ node, old, new: current }: DiffPair): DiffItem {
  const operation: DiffOperation = old === undefined ? 'add' : current === undefined ? 'remove' : 'change'
  const path: string[] = []
  for (let step = node; step !== undefined; step = step.parent) path.push(step.key)
  return createDiffItem(operation, path.reverse(), old, current)
}
