/**
 * Lists in a strategic merge patch (apimachinery's strategicpatch): lists of objects are merged by their merge key, lists of scalars
 * are united; `$patch`, `$deleteFromPrimitiveList` and `$setElementOrder` are applied. Called by merge.ts.
 */
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { badFormat, failure, listOfLists, noMergeKey, panic, unknownDirective, wrongType } from './failures.ts'
import { goTypeOf, printGo } from './go-values.ts'
import { hash, identityBy, isDeletion, ownValue, putInOrder } from './order.ts'

export interface ListRules {
  readonly mergeKey: string
  /** The Go kind of the elements, for messages. */
  readonly elementKind: string
  /** Merges an element of the patch into the element with the same key. */
  readonly mergeElements: (original: JsonObject, patch: JsonObject) => JsonObject
}

/**
 * Merges a list with the list of the patch. May modify its arguments: `original` ends up like Go's slice, because `$setElementOrder`
 * uses it as the old order.
 */
export function mergeLists(original: Json[], patch: Json[], rules: ListRules): Json[] {
  if (original.length === 0 && patch.length === 0) return original
  const { mergeKey } = rules
  if (!areObjects(original, patch)) {
    const merged = unite(original, patch)
    return putInOrder(merged, { mergeKey, areObjects: () => false, patchOrder: patch, serverOrder: original })
  }
  if (mergeKey === '') throw failure(`cannot merge lists without merge key for ${rules.elementKind}`)
  const { rest, isReplaced, count } = applyDirectives(original, patch as JsonObject[], mergeKey)
  const kept: Json[] = isReplaced ? rest : original.slice(0, count)
  const merged = isReplaced ? kept : mergeElements(kept, rest, rules)
  // New elements overwrite the places of deleted ones, as in Go's slice.
  for (let place = kept.length; !isReplaced && place < original.length && place < merged.length; place += 1) {
    original[place] = merged[place]!
  }
  const patchOrder = isReplaced ? [] : rest
  return putInOrder(merged, { mergeKey, areObjects: () => true, patchOrder, serverOrder: kept })
}

/** Removes elements from a list of scalars. */
export function deleteFromList(original: Json[], unwanted: Json[], rules: ListRules): Json[] {
  if (original.length === 0 && unwanted.length === 0) return original
  // kube-apiserver merges lists of objects here.
  if (areObjects(original, unwanted)) return mergeLists(original, unwanted, rules)
  const gone = new Set(unwanted.map(hash))
  return original.filter((element) => !gone.has(hash(element)))
}

/** True if the elements are objects. All must have the same type, and none may be a list. */
export function areObjects(...lists: readonly Json[][]): boolean {
  let type: string | undefined
  for (const element of lists.flat(1)) {
    const own = goTypeOf(element)
    if (type === undefined) {
      if (own === undefined) throw panic()
      if (own === '[]interface {}') throw listOfLists()
      type = own
    } else if (type !== own) {
      throw failure(`list element types are not identical: ${printGo(lists as Json[])}`)
    }
  }
  if (type === undefined) throw failure('no elements in any of the given slices')
  return type === 'map[string]interface {}'
}

function unite(original: readonly Json[], patch: readonly Json[]): Json[] {
  return [...new Set([...original, ...patch])]
}

interface DirectiveResult {
  /** The elements of the patch still to be merged. */
  readonly rest: JsonObject[]
  readonly isReplaced: boolean
  /** The number of remaining elements of the list. */
  readonly count: number
}

/** Applies `$patch` directives of elements: delete and replace. */
function applyDirectives(original: Json[], patch: readonly JsonObject[], mergeKey: string): DirectiveResult {
  const gone: string[] = []
  let isReplaced = false
  const rest = patch.filter((element) => {
    const directive = ownValue(element, '$patch')
    if (directive === undefined) return true
    if (directive === 'replace') isReplaced = true
    else if (directive === 'delete') gone.push(hash(keyOf(element, mergeKey)))
    else if (directive === 'merge') throw failure('merging lists cannot yet be specified in the patch')
    else throw unknownDirective(directive, element)
    return false
  })
  return { rest, isReplaced, count: deleteInPlace(original, gone, mergeKey) }
}

/**
 * Each deletion moves the following elements up and leaves the last one in its old place as well. Returns the number of remaining
 * elements.
 */
function deleteInPlace(list: Json[], gone: readonly string[], mergeKey: string): number {
  if (gone.length === 0) return list.length
  const positions = allPositions(list, mergeKey)
  const dead = new Set<number>()
  const tail: Json[] = []
  let last = list.length - 1
  for (const index of gone.flatMap((key) => positions.get(key) ?? [])) {
    if (dead.has(index)) continue
    tail.push(list[last]!)
    dead.add(index)
    while (dead.has(last)) last -= 1
  }
  const alive = list.filter((_, index) => !dead.has(index))
  for (const [index, element] of [...alive, ...tail.reverse()].entries()) list[index] = element
  return alive.length
}

function allPositions(list: readonly Json[], mergeKey: string): Map<string, number[]> {
  const positions = new Map<string, number[]>()
  for (const [index, element] of list.entries()) {
    const key = identityBy(mergeKey)(element)
    const known = positions.get(key)
    if (known === undefined) positions.set(key, [index])
    else known.push(index)
  }
  return positions
}

function keyOf(element: JsonObject, mergeKey: string): Json {
  const value = ownValue(element, mergeKey)
  if (value === undefined) throw noMergeKey(element, mergeKey)
  return value
}

function mergeElements(original: readonly Json[], patch: readonly JsonObject[], rules: ListRules): Json[] {
  const merged = [...original]
  const positions = positionsByKey(merged, rules.mergeKey)
  for (const element of patch) {
    const key = hash(keyOf(element, rules.mergeKey))
    const position = positions.get(key)
    if (position === undefined) {
      positions.set(key, merged.length)
      merged.push(element)
    } else {
      merged[position] = rules.mergeElements(merged[position] as JsonObject, element)
    }
  }
  return merged
}

/** The positions of elements that have the key. */
function positionsByKey(list: readonly Json[], mergeKey: string): Map<string, number> {
  const positions = new Map<string, number>()
  for (const [position, element] of list.entries()) {
    const value = ownValue(element as JsonObject, mergeKey)
    if (value !== undefined && !positions.has(hash(value))) positions.set(hash(value), position)
  }
  return positions
}

/** The elements of the patch must occur in the order list, in the same order. */
export function checkOrder(patch: readonly Json[], order: readonly Json[], mergeKey: string): void {
  if (order.length === 0 || patch.length === 0) return
  const kept = mergeKey === '' ? patch : patch.filter((element) => !isDeletionOfObject(element))
  let next = 0
  let place = 0
  while (next < kept.length && place < order.length) {
    if (isPlainObject(kept[next]) && Object.hasOwn(kept[next] as JsonObject, '$patch')) {
      next += 1
      continue
    }
    if (isSame(kept[next]!, order[place]!, mergeKey)) next += 1
    place += 1
  }
  if (next < kept.length && place >= order.length) {
    const shown = `${printGo(patch as Json[])}\n doesn't match $setElementOrder list:\n${printGo(order as Json[])}\n`
    throw failure(`The order in patch list:\n${shown}`)
  }
}

function isDeletionOfObject(element: Json): boolean {
  if (!isPlainObject(element)) throw wrongType('map[string]interface {}', element)
  return isDeletion(element)
}

function isSame(one: Json, other: Json, mergeKey: string): boolean {
  if (mergeKey === '') return isSameValue(one, other)
  if (!isPlainObject(one)) throw wrongType('map[string]interface {}', one)
  if (!isPlainObject(other)) throw wrongType('map[string]interface {}', other)
  return isSameValue(keyOf(one, mergeKey), keyOf(other, mergeKey))
}

function isSameValue(one: Json, other: Json): boolean {
  if (goTypeOf(one) !== goTypeOf(other)) return false
  return hash(one) === hash(other)
}

/** The field of a directive such as `$setElementOrder/containers`. */
export function fieldOfDirective(key: string, directive: '$setElementOrder' | '$deleteFromPrimitiveList'): string {
  const slash = key.indexOf('/')
  if (slash >= 0 && key.slice(0, slash) === directive) return key.slice(slash + 1)
  throw badFormat(directive === '$setElementOrder' ? 'setElementOrder list' : 'primitive list')
}
