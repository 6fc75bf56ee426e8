/**
 * The order of the elements in a merged list: elements of the patch in the patch's order, all others in their old order, interleaved
 * by their old positions. Positions are looked up in maps, since a patch may have any number of elements.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isContainer, isPlainObject, type Json } from '../../util/json/json.ts'
import { failure, noMergeKey, panic, wrongType } from './failures.ts'
import { sortStable } from './stable-sort.ts'

/** The identity of an element: its merge key, or the element itself if there is none. */
type IdentifyElement = (element: Json) => string

/** A value as a map key. Go cannot compare objects and lists, and panics. */
export function hash(value: Json | undefined): string {
  if (value === undefined) return 'null'
  if (isContainer(value)) throw panic()
  return JSON.stringify(value)
}

export function identityBy(mergeKey: string): IdentifyElement {
  if (mergeKey === '') return hash
  return (element) => hash(isPlainObject(element) ? ownValue(element, mergeKey) : undefined)
}

export function ownValue(fields: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** The first position of each element. */
function positionsOf(list: readonly Json[], identify: IdentifyElement): Map<string, number> {
  const positions = new Map<string, number>()
  for (const [position, element] of list.entries()) {
    const key = identify(element)
    if (!positions.has(key)) positions.set(key, position)
  }
  return positions
}

interface Ordering {
  readonly mergeKey: string
  /** True if the elements are objects, which must have the merge key. Evaluated after the elements of the patch have been separated. */
  readonly areObjects: () => boolean
  readonly patchOrder: readonly Json[]
  readonly serverOrder: readonly Json[]
}

/** Returns all elements of `merged` in order. */
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

/** Splits the elements: named by the patch's order, and not named. */
function partition(merged: readonly Json[], order: readonly Json[], mergeKey: string): [Json[], Json[]] {
  const identify = identityBy(mergeKey)
  const positions = positionsOf(order, identify)
  const wrong = mergeKey === '' ? -1 : order.findIndex((element) => !isPlainObject(element))
  const [named, others]: [Json[], Json[]] = [[], []]
  for (const element of merged) {
    if (mergeKey !== '') checkMergeKey(element, mergeKey)
    const position = positions.get(identify(element))
    if (wrong >= 0 && !isBefore(position, wrong)) throw failure(`value for key ${wrong} is not a map`)
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

/** An element without a position precedes and follows everything in Go's comparison, which is therefore not a consistent order. */
function sortBy(list: readonly Json[], order: readonly Json[], identify: IdentifyElement): Json[] {
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

/** Inserts elements that only the server has before the patch elements that followed them; all others come last. */
function interleave(
  others: readonly Json[],
  patchItems: readonly Json[],
  positions: ReadonlyMap<string, number>,
  identify: IdentifyElement,
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
