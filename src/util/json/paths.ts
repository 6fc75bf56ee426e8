/**
 * Reads, sets and removes nested fields by path: in place (for patches), or in a copy that shares all other parts (for bodies, which
 * are frozen). Uses own keys only, and does not descend into lists, as in Kopf.
 */
import { getOwn, isPlainObject, setOwn } from './json.ts'

type PathFields = { [key: string]: unknown }
type ReadonlyFields = { readonly [key: string]: unknown }

/** The keys of a dotted path. An array is returned unchanged: its keys may contain dots. */
export function parsePath(path: string | readonly string[]): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** The value at a path; undefined if a part of the path is missing or is not an object. */
export function resolvePath(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const key of path) {
    if (!isPlainObject(value)) return undefined
    value = getOwn(value, key)
  }
  return value
}

/** Sets a field in place. A value on the path that is not an object is replaced by one. */
export function ensurePath(target: PathFields, path: readonly string[], value: unknown): void {
  let fields = target
  for (const key of path.slice(0, -1)) {
    const inner: unknown = getOwn(fields, key)
    const next: PathFields = isPlainObject(inner) ? inner : {}
    if (next !== inner) setOwn(fields, key, next)
    fields = next
  }
  setOwn(fields, path.at(-1)!, value)
}

/** Removes a field in place, and parents that become empty. */
export function removePath(target: PathFields, path: readonly string[]): void {
  const parents = parentsOf(target, path)
  if (parents === undefined) return
  for (let index = parents.length - 1; index >= 0; index -= 1) {
    const fields = parents[index] as PathFields
    const inner = getOwn(fields, path[index]!)
    const isEmptied = index < parents.length - 1 && isPlainObject(inner) && isEmpty(inner)
    if (index === path.length - 1 || isEmptied) delete fields[path[index]!]
  }
}

/** A copy with one field set. Parts outside the path are shared with the original. */
export function withPath<T extends object>(root: T, path: readonly string[], value: unknown): T {
  if (resolvePath(root, path) === value) return root
  const copy = { ...root } as PathFields
  let fields = copy
  for (const key of path.slice(0, -1)) {
    const inner = getOwn(fields, key)
    const next: PathFields = isPlainObject(inner) ? { ...inner } : {}
    setOwn(fields, key, next)
    fields = next
  }
  setOwn(fields, path.at(-1)!, value)
  return copy as T
}

/**
 * A copy without one field and without empty parents, also those that were empty before. Returns the original if there is nothing to
 * remove.
 */
export function withoutPath<T extends object>(root: T, path: readonly string[]): T {
  const parents = parentsOf(root as ReadonlyFields, path)
  if (parents === undefined) return root
  const deepest = parents.length - 1
  let kept: ReadonlyFields = parents[deepest]!
  if (parents.length === path.length) kept = omit(kept, path.at(-1)!)
  for (let index = deepest - 1; index >= 0; index -= 1) {
    const parent = parents[index]!
    if (isEmpty(kept)) kept = omit(parent, path[index]!)
    else if (kept === parents[index + 1]) return root
    else kept = { ...parent, [path[index]!]: kept }
  }
  return kept as T
}

/** The existing parents of a field; undefined if one of them is not an object. */
function parentsOf(root: ReadonlyFields, path: readonly string[]): ReadonlyFields[] | undefined {
  const parents = [root]
  for (const key of path.slice(0, -1)) {
    const inner = getOwn(parents.at(-1)!, key)
    if (inner === undefined) break
    if (!isPlainObject(inner)) return undefined
    parents.push(inner)
  }
  return parents
}

function omit(fields: ReadonlyFields, key: string): ReadonlyFields {
  if (!Object.hasOwn(fields, key)) return fields
  const { [key]: _, ...rest } = fields
  return rest
}

function isEmpty(fields: object): boolean {
  for (const key in fields) if (Object.hasOwn(fields, key)) return false
  return true
}
