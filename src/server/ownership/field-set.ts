/**
 * Sets of fields in the form of `fieldsV1`, so that stored sets are used without conversion: a tree of path elements, where `{}` is a
 * field of the set, and `.` marks a field that is in the set together with fields below it. Sets are immutable and share parts. Their
 * elements are sorted, except in a FieldSetBuilder.
 */
import { type Recursion, runRecursion } from '../../util/recursion.ts'
import { compareElements, normalizeElement, printElement } from './path-elements.ts'

export interface FieldSet {
  readonly [element: string]: FieldSet
}

export type MutableFieldSet = { [element: string]: FieldSet }

const leaf: FieldSet = Object.freeze({})
export const noFields: FieldSet = leaf

/** A position in an object as a linked list, innermost element first. Undefined stands for the object itself. */
export interface FieldPosition {
  readonly around: FieldPosition | undefined
  readonly element: string
}

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false
  return true
}

function isMember(node: FieldSet): boolean {
  return '.' in node || isEmpty(node)
}

/** Builds a set. Fields can be added in any order; `done` sorts them. */
export class FieldSetBuilder {
  #root: MutableFieldSet | undefined

  /** Nodes created by this builder. All other nodes are sorted and shared. */
  readonly #made = new Set<FieldSet>()

  /** The node of each used position, so that adding a deep field does not need a walk from the root. */
  readonly #nodes = new Map<FieldPosition, MutableFieldSet>()

  get isEmpty(): boolean {
    return this.#root === undefined
  }

  add(around: FieldPosition | undefined, element: string): void {
    const node = this.#nodeAt(around)
    const present = node[element]
    if (present === undefined) node[element] = leaf
    else if (!isMember(present)) this.#nodeAt({ around, element })['.'] = leaf
  }

  /** Adds a field with all fields below it, at a position that has none yet. */
  addAll(around: FieldPosition | undefined, element: string, below: FieldSet): void {
    this.#nodeAt(around)[element] = below
  }

  done(): FieldSet {
    return this.#root === undefined ? noFields : sortNodes(this.#root, (node) => this.#made.has(node))
  }

  /** The node at a position, created if missing. */
  #nodeAt(place: FieldPosition | undefined): MutableFieldSet {
    const missing: FieldPosition[] = []
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

  /** The node below an element; a shared node is replaced by a copy. */
  #below(node: MutableFieldSet, element: string): MutableFieldSet {
    const present = node[element]
    if (present !== undefined && this.#made.has(present)) return present as MutableFieldSet
    const fresh = this.#make(present === undefined ? {} : isEmpty(present) ? { '.': leaf } : { ...present })
    node[element] = fresh
    return fresh
  }

  #make(node: MutableFieldSet): MutableFieldSet {
    this.#made.add(node)
    return node
  }
}

/** A copy with sorted elements on every level. Nodes for which `isUnsorted` is false are shared. */
function sortNodes(root: FieldSet, isUnsorted: (node: FieldSet) => boolean): FieldSet {
  const sortedRoot: MutableFieldSet = {}
  const pending: Array<[FieldSet, MutableFieldSet]> = [[root, sortedRoot]]
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

/** If all elements are fields, which is the usual case, plain string order is correct. */
export function sortElements(elements: string[]): string[] {
  for (const element of elements) {
    if (element.charCodeAt(0) !== 0x66 && element !== '.') return elements.sort(compareElements)
  }
  return elements.sort()
}

/** The fields that are in either set. */
export function union(one: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(uniteAll(one, other))
}

function* uniteAll(one: FieldSet, other: FieldSet): Recursion<FieldSet> {
  let result: MutableFieldSet | undefined
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
  const sorted: MutableFieldSet = {}
  for (const key of sortElements(Object.keys(node))) sorted[key] = node[key]!
  return sorted
}

/** The fields of the first set that are not in the other. Fields below a removed field stay. */
export function difference(set: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(without(set, other, takeField))!
}

/** The fields of the first set that are neither in the other nor below one of its fields. */
export function recursiveDifference(set: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(without(set, other, takeWithAllBelow))!
}

/** Undefined if nothing is left. */
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

/** Returns the same set if nothing is removed. */
function* without(set: FieldSet, other: FieldSet, take: (own: FieldSet, taken: FieldSet) => Taking): Taking {
  let result: MutableFieldSet | undefined
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

/** A member without fields below it is written as `{}`, without the `.` mark. */
function tidy(node: FieldSet): FieldSet {
  for (const key in node) if (key !== '.') return node
  return '.' in node ? leaf : node
}

/** The fields below a field that is itself not in the set. */
function unmarked(node: FieldSet): FieldSet | undefined {
  if (!('.' in node)) return isEmpty(node) ? undefined : node
  const { '.': _, ...rest } = node
  return isEmpty(rest) ? undefined : rest
}

/** The fields that are in both sets. */
export function intersection(one: FieldSet, other: FieldSet): FieldSet {
  return runRecursion(intersect(one, other))
}

function* intersect(one: FieldSet, other: FieldSet): Recursion<FieldSet> {
  const result: MutableFieldSet = {}
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

/** True if the element itself is in the set. */
export function hasElement(set: FieldSet, element: string): boolean {
  const node = set[element]
  return node !== undefined && isMember(node)
}

/** The fields below an element; undefined if there are none. */
export function below(set: FieldSet, element: string): FieldSet | undefined {
  const node = set[element]
  return node === undefined ? undefined : unmarked(node)
}

/** A set with one field for each path. */
export function toFieldSet(...paths: ReadonlyArray<readonly string[]>): FieldSet {
  const builder = new FieldSetBuilder()
  for (const path of paths) {
    let around: FieldPosition | undefined
    for (const element of path.slice(0, -1)) around = { around, element }
    builder.add(around, path.at(-1)!)
  }
  return builder.done()
}

/** All fields of a set; the fields of a level come before the fields below. */
export function* placesOf(set: FieldSet): Generator<FieldPosition> {
  const pending: Array<readonly [FieldSet, FieldPosition | undefined]> = [[set, undefined]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [node, around] = next
    const inside: Array<readonly [FieldSet, FieldPosition]> = []
    for (const key in node) {
      if (key === '.') continue
      const place = { around, element: key }
      if (isMember(node[key]!)) yield place
      if (!isEmpty(node[key]!)) inside.push([node[key]!, place])
    }
    for (const one of inside.reverse()) pending.push(one)
  }
}

/** The elements of a position, outermost first. */
export function toPath(place: FieldPosition): string[] {
  const path: string[] = []
  for (let at: FieldPosition | undefined = place; at !== undefined; at = at.around) path.push(at.element)
  return path.reverse()
}

export function printPath(path: readonly string[]): string {
  return path.map(printElement).join('')
}

/** Parses `fieldsV1` written by a client into our form. Throws an Error if it is invalid. */
export function parseFieldSet(raw: unknown): FieldSet {
  if (raw === null || raw === undefined) return noFields
  const node = runRecursion(parseNode(raw))
  return sortNodes('.' in node ? (unmarked(node) ?? noFields) : node, () => true)
}

function* parseNode(raw: unknown): Recursion<FieldSet> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw new Error('expect { or n')
  const node: MutableFieldSet = {}
  for (const key of Object.keys(raw)) {
    const element = key === '.' ? key : normalizeElement(key)
    if (element === undefined) continue
    const child = (raw as Record<string, unknown>)[key]
    node[element] = key === '.' || child === null ? leaf : yield parseNode(child)
  }
  return tidy(node)
}
