/**
 * Fields of nested objects by their paths: read, and set or removed either in place (patches, which are ours) or in a copy
 * that shares all it can (bodies, which nobody may change). Looks at own keys only; never goes into lists, as in Kopf.
 */
import { getOwn, isPlainObject, setOwn } from './json.ts'

type Fields = { [key: string]: unknown }
type ReadonlyFields = { readonly [key: string]: unknown }

/** The keys of a dotted path. A path that is an array already is taken as it is: its keys may have dots in them. */
export function parsePath(path: string | readonly string[]): readonly string[] {
  return typeof path === 'string' ? path.split('.') : path
}

/** The value at a path; undefined where there is none, or something on the way has no fields. */
export function resolvePath(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const key of path) {
    if (!isPlainObject(value)) return undefined
    value = getOwn(value, key)
  }
  return value
}

/** Sets a field in place. Whatever has no fields of its own on the way there is replaced. */
export function ensurePath(target: Fields, path: readonly string[], value: unknown): void {
  let fields = target
  for (const key of path.slice(0, -1)) {
    const inner: unknown = getOwn(fields, key)
    const next: Fields = isPlainObject(inner) ? inner : {}
    if (next !== inner) setOwn(fields, key, next)
    fields = next
  }
  setOwn(fields, path.at(-1)!, value)
}

/** Removes a field in place, and the parents that have nothing left. */
export function removePath(target: Fields, path: readonly string[]): void {
  const parents = parentsOf(target, path)
  if (parents === undefined) return
  for (let index = parents.length - 1; index >= 0; index -= 1) {
    const fields = parents[index] as Fields
    const inner = getOwn(fields, path[index]!)
    const isEmptied = index < parents.length - 1 && isPlainObject(inner) && isEmpty(inner)
    if (index === path.length - 1 || isEmptied) delete fields[path[index]!]
  }
}

/** The same with one field set. The original is not changed; what is not on the way is shared with it. */
export function withPath<T extends object>(root: T, path: readonly string[], value: unknown): T {
  if (resolvePath(root, path) === value) return root
  const copy = { ...root } as Fields
  let fields = copy
  for (const key of path.slice(0, -1)) {
    const inner = getOwn(fields, key)
    const next: Fields = isPlainObject(inner) ? { ...inner } : {}
    setOwn(fields, key, next)
    fields = next
  }
  setOwn(fields, path.at(-1)!, value)
  return copy as T
}

/**
 * The same without one field, and without the parents that have nothing left, even where they had nothing before. The
 * original is not changed, and returned itself where there is nothing to remove.
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

/** The containers on the way to a field, as far as they are there; undefined where one has no fields at all. */
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
