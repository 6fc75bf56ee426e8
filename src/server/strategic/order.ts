/**
 * In which order the elements of a merged list stand: those of the patch as the patch has them, the others as they stood,
 * and both interleaved as far as the old order knows of them. Positions are looked up, not searched for: a patch may have as
 * many elements as it likes.
 */
import { isContainer, isPlainObject, type Json } from '../../util/json.ts'
import { failure, noMergeKey, panic, wrongType } from './failures.ts'
import { sortStable } from './stable-sort.ts'

export type Fields = { [key: string]: Json }

/** What makes an element the same as another. Without a merge key the element itself is its identity. */
type Identity = (element: Json) => string

/** A value as the key of a map. Go cannot compare objects and lists, and panics where it has to. */
export function hash(value: Json | undefined): string {
  if (value === undefined) return 'null'
  if (isContainer(value)) throw panic()
  return JSON.stringify(value)
}

export function identityBy(mergeKey: string): Identity {
  if (mergeKey === '') return hash
  return (element) => hash(isPlainObject(element) ? ownValue(element, mergeKey) : undefined)
}

export function ownValue(fields: Fields, key: string): Json | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** The first position of each element. */
function positionsOf(list: readonly Json[], identify: Identity): Map<string, number> {
  const positions = new Map<string, number>()
  for (const [position, element] of list.entries()) {
    const key = identify(element)
    if (!positions.has(key)) positions.set(key, position)
  }
  return positions
}

interface Ordering {
  readonly mergeKey: string
  /** Whether the elements are objects: then each must have the merge key. Asked when it is known which are the patch's. */
  readonly areObjects: () => boolean
  readonly patchOrder: readonly Json[]
  readonly serverOrder: readonly Json[]
}

/** All elements of `merged`, put in order. */
export function putInOrder(merged: readonly Json[], ordering: Ordering): Json[] {
  const { mergeKey, patchOrder, serverOrder } = ordering
  const [patchItems, others] = partition(merged, patchOrder, mergeKey)
  const isOfObjects = ordering.areObjects()
  const identify = identityBy(isOfObjects ? mergeKey : '')
  const sort = (list: readonly Json[], order: readonly Json[]): Json[] =>
    isOfObjects ? sortObjects(list, order, mergeKey) : sortBy(list, order, identify)
  const sorted = [sort(patchItems, patchOrder), sort(others, serverOrder)] as const
  return interleave(sorted[1], sorted[0], positionsOf(serverOrder, identify), identify)
}

/** What the order of the patch names, and what it does not. */
function partition(merged: readonly Json[], order: readonly Json[], mergeKey: string): [Json[], Json[]] {
  const identify = identityBy(mergeKey)
  const positions = positionsOf(order, identify)
  const stranger = mergeKey === '' ? -1 : order.findIndex((element) => !isPlainObject(element))
  const [named, others]: [Json[], Json[]] = [[], []]
  for (const element of merged) {
    if (mergeKey !== '') checkMergeKey(element, mergeKey)
    const position = positions.get(identify(element))
    if (stranger >= 0 && !isBefore(position, stranger)) throw failure(`value for key ${stranger} is not a map`)
    if (position === undefined) others.push(element)
    else named.push(element)
  }
  return [named, others]
}

function checkMergeKey(element: Json, mergeKey: string): void {
  if (!isPlainObject(element)) throw wrongType('map[string]interface {}', element)
  if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey)
}

function sortObjects(list: readonly Json[], order: readonly Json[], mergeKey: string): Json[] {
  for (const element of [...list, ...order]) checkMergeKey(element, mergeKey)
  const kept = list.filter((element) => !isDeletion(element))
  return [...sortBy(kept, order, identityBy(mergeKey)), ...list.filter(isDeletion)]
}

/** What the order does not know of is before everything else, says Go's comparison, and after it as well. */
function sortBy(list: readonly Json[], order: readonly Json[], identify: Identity): Json[] {
  const positions = positionsOf(order, identify)
  const placed = list.map((element) => ({ element, at: positions.get(identify(element)) }))
  const isKnown = placed.every(({ at }) => at !== undefined)
  if (isKnown) placed.sort((one, other) => one.at! - other.at!)
  else sortStable(placed, ({ at }, other) => at === undefined || other.at === undefined || at < other.at)
  return placed.map(({ element }) => element)
}

export function isDeletion(element: Json): boolean {
  return isPlainObject(element) && ownValue(element, '$patch') === 'delete'
}

/** Puts those that only the server has where they stood before an element of the patch; others come after them. */
function interleave(
  others: readonly Json[],
  patchItems: readonly Json[],
  positions: ReadonlyMap<string, number>,
  identify: Identity,
): Json[] {
  const result: Json[] = []
  let next = 0
  for (const item of patchItems) {
    const at = positions.get(identify(item))
    while (next < others.length && at !== undefined && isBefore(positions.get(identify(others[next]!)), at)) {
      result.push(others[next]!)
      next += 1
    }
    result.push(item)
  }
  return [...result, ...others.slice(next)]
}

function isBefore(at: number | undefined, other: number): boolean {
  return at !== undefined && at < other
}
