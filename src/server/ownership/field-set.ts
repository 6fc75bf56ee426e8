/**
 * Sets of fields, in the very form of `fieldsV1`: a tree of path elements, where `{}` is a field that is in the set, and `.`
 * one that is in it together with something below it. So what is stored is worked on as it is. Sets are never changed once
 * they are made, and share their parts; their elements are in order, but for those that a FieldSetBuilder is still at.
 */
import { type Recursion, runRecursion } from '../../util/recursion.ts'
import { compareElements, normalizeElement, printElement } from './path-elements.ts'

export interface FieldSet {
  readonly [element: string]: FieldSet
}

type Growing = { [element: string]: FieldSet }

const leaf: FieldSet = Object.freeze({})
export const noFields: FieldSet = leaf

/** Where somebody stands in an object: the containers around, innermost first. Undefined for the object itself. */
export interface Place {
  readonly around: Place | undefined
  readonly element: string
}

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false
  return true
}

function isMember(node: FieldSet): boolean {
  return '.' in node || isEmpty(node)
}

/** Fields are added in any order; `done` puts them into the right one. */
export class FieldSetBuilder {
  #root: Growing | undefined

  /** Nodes of its own making; others are in order, and somebody else's. */
  readonly #made = new Set<FieldSet>()

  /** The node of each place that was asked for, so that a field deep in an object does not cost a walk from the root. */
  readonly #nodes = new Map<Place, Growing>()

  get isEmpty(): boolean {
    return this.#root === undefined
  }

  add(around: Place | undefined, element: string): void {
    const node = this.#nodeAt(around)
    const present = node[element]
    if (present === undefined) node[element] = leaf
    else if (!isMember(present)) this.#nodeAt({ around, element })['.'] = leaf
  }

  /** The same with all that is in a set below it, where nothing was before. */
  addAll(around: Place | undefined, element: string, below: FieldSet): void {
    this.#nodeAt(around)[element] = below
  }

  done(): FieldSet {
    return this.#root === undefined ? noFields : sortNodes(this.#root, (node) => this.#made.has(node))
  }

  /** The node at a place, which is about to get something below it. */
  #nodeAt(place: Place | undefined): Growing {
    const missing: Place[] = []
    let at = place
    while (at !== undefined && !this.#nodes.has(at)) {
      missing.push(at)
      at = at.around
    }
    this.#root ??= this.#make({})
    let node = at === undefined ? this.#root : this.#nodes.get(at)!
    for (let next = missing.pop(); next !== undefined; next = missing.pop()) {
      node = this.#below(node, next.element)
      this.#nodes.set(next, node)
    }
    return node
  }

  /** The node below an element, made its own where it was not. */
  #below(node: Growing, element: string): Growing {
    const present = node[element]
    if (present !== undefined && this.#made.has(present)) return present as Growing
    const fresh = this.#make(present === undefined ? {} : isEmpty(present) ? { '.': leaf } : { ...present })
    node[element] = fresh
    return fresh
  }

  #make(node: Growing): Growing {
    this.#made.add(node)
    return node
  }
}

/** A copy with its elements in order on every level. Nodes for which `isUnsorted` is false are taken as they are. */
function sortNodes(root: FieldSet, isUnsorted: (node: FieldSet) => boolean): FieldSet {
  const sortedRoot: Growing = {}
  const pending: Array<[FieldSet, Growing]> = [[root, sortedRoot]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, sorted] = next
    for (const key of sortElements(Object.keys(node))) {
      const child = node[key]!
      const copy = isEmpty(child) ? leaf : isUnsorted(child) ? {} : child
      sorted[key] = copy
      if (copy !== leaf && copy !== child) pending.push([child, copy])
    }
  }
  return sortedRoot
}

/** Mostly they are all fields, for which the order of texts is good enough. */
export function sortElements(elements: string[]): string[] {
  for (const element of elements) {
    if (element.charCodeAt(0) !== 0x66 && element !== '.') return elements.sort(compareElements)
  }
  return elements.sort()
}

/** All that are in either of them. */
export function union(one: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(uniteAll(one, other))
}

function* uniteAll(one: FieldSet, other: FieldSet): Recursion<FieldSet> {
  let result: Growing | undefined
  let hasGrown = false
  for (const key in other) {
    if (key === '.') continue
    const own = one[key]
    const united = own === undefined ? other[key]! : yield unite(own, other[key]!)
    if (united === own) continue
    result ??= { ...one }
    result[key] = united
    hasGrown ||= own === undefined
  }
  if (result === undefined) return one
  return hasGrown ? resorted(result) : result
}

function* unite(own: FieldSet, other: FieldSet): Recursion<FieldSet> {
  if (own === other) return own
  const both = yield uniteAll(own, other)
  const hasMark = '.' in both
  const isIn = isMember(own) || isMember(other)
  return isIn && !hasMark && !isEmpty(both) ? { '.': leaf, ...both } : both
}

function resorted(node: FieldSet): FieldSet {
  const sorted: Growing = {}
  for (const key of sortElements(Object.keys(node))) sorted[key] = node[key]!
  return sorted
}

/** Those of the first that are not in the other. What is below a field is another field: it stays. */
export function difference(set: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(without(set, other, takeField))!
}

/** Those of the first that are neither in the other nor below something that is. */
export function recursiveDifference(set: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(without(set, other, takeWithAllBelow))!
}

/** Undefined for nothing left. */
type Taking = Recursion<FieldSet | undefined>

function* takeField(own: FieldSet, taken: FieldSet): Taking {
  const kept = (yield without(own, taken, takeField))!
  if (isMember(own) && !isMember(taken)) return tidy(kept)
  return isEmpty(own) ? undefined : unmarked(kept)
}

function* takeWithAllBelow(own: FieldSet, taken: FieldSet): Taking {
  if (isMember(taken)) return undefined
  const kept = (yield without(own, taken, takeWithAllBelow))!
  return isMember(own) ? tidy(kept) : isEmpty(kept) ? undefined : kept
}

/** The set itself where nothing is taken off it. */
function* without(set: FieldSet, other: FieldSet, take: (own: FieldSet, taken: FieldSet) => Taking): Taking {
  let result: Growing | undefined
  for (const key in other) {
    const own = key === '.' ? undefined : set[key]
    if (own === undefined) continue
    const kept = yield take(own, other[key]!)
    if (kept === own) continue
    result ??= { ...set }
    if (kept === undefined) delete result[key]
    else result[key] = kept
  }
  return result ?? set
}

/** A field that is in a set, with nothing below it left, is written without its mark. */
function tidy(node: FieldSet): FieldSet {
  for (const key in node) if (key !== '.') return node
  return '.' in node ? leaf : node
}

/** What is below a field that is no longer in the set itself. */
function unmarked(node: FieldSet): FieldSet | undefined {
  if (!('.' in node)) return isEmpty(node) ? undefined : node
  const { '.': _, ...rest } = node
  return isEmpty(rest) ? undefined : rest
}

/** Those that are in both. */
export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(intersect(one, other))
}

function* intersect(one: FieldSet, other: FieldSet): Recursion<FieldSet> {
  const result: Growing = {}
  for (const key in one) {
    const taken = key === '.' ? undefined : other[key]
    if (taken === undefined) continue
    const below = yield intersect(one[key]!, taken)
    const isIn = isMember(one[key]!) && isMember(taken)
    if (isIn) result[key] = isEmpty(below) ? leaf : { '.': leaf, ...below }
    else if (!isEmpty(below)) result[key] = below
  }
  return result
}

export function has(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) node = node?.[element]
  return node !== undefined && path.length > 0 && isMember(node)
}

/** Whether the element itself is in the set. */
export function hasElement(set: FieldSet, element: string): boolean {
  const node = set[element]
  return node !== undefined && isMember(node)
}

/** What of the set is below an element; undefined where nothing is. */
export function below(set: FieldSet, element: string): FieldSet | undefined {
  const node = set[element]
  return node === undefined ? undefined : unmarked(node)
}

/** A set of one field for each path. */
export function toFieldSet(...paths: ReadonlyArray<readonly string[]>): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) {
    let around: Place | undefined
    for (const element of path.slice(0, -1)) around = { around, element }
    builder.add(around, path.at(-1)!)
  }
  return builder.done()
}

/** Every field of a set, those of a level before those below. */
export function* placesOf(set: FieldSet): Generator<Place> {
  const pending: Array<readonly [FieldSet, Place | undefined]> = [[set, undefined]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, around] = next
    const inside: Array<readonly [FieldSet, Place]> = []
    for (const key in node) {
      if (key === '.') continue
      const place = { around, element: key }
      if (isMember(node[key]!)) yield place
      if (!isEmpty(node[key]!)) inside.push([node[key]!, place])
    }
    for (const one of inside.reverse()) pending.push(one)
  }
}

/** The elements on the way to a place, the outermost first. */
export function toPath(place: Place): string[] {
  const path: string[] = []
  for (let at: Place | undefined = place; at !== undefined; at = at.around) path.push(at.element)
  return path.reverse()
}

export function printPath(path: readonly string[]): string {
  return path.map(printElement).join('')
}

/** What somebody else has written as `fieldsV1`, in our form. Throws an Error where it is none. */
export function parseFieldSet(raw: unknown): FieldSet {
  if (raw === null || raw === undefined) return noFields
  const node = runRecursion(parseNode(raw))
  return sortNodes('.' in node ? (unmarked(node) ?? noFields) : node, () => true)
}

function* parseNode(raw: unknown): Recursion<FieldSet> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new Error('expect { or n')
  const node: Growing = {}
  for (const key of Object.keys(raw)) {
    const element = key === '.' ? key : normalizeElement(key)
    if (element === undefined) continue
    const child = (raw as Record<string, unknown>)[key]
    node[element] = key === '.' || child === null ? leaf : yield parseNode(child)
  }
  return tidy(node)
}
