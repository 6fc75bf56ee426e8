/** Compares and copies JSON values. Does not recurse, since documents may have 10,000 levels. */
import { isContainer, type JsonContainer, setOwn } from './json.ts'

/** Compares two values; undefined for the ordinary comparison. */
export type PairComparator = (left: unknown, right: unknown) => boolean | undefined

/**
 * Whether two JSON values are equal. The order of keys is irrelevant; a key with null differs from a missing key. `compare` is called for
 * each pair of values that are not identical.
 */
export function isDeepEqual(a: unknown, b: unknown, compare?: PairComparator): boolean {
  const pending: unknown[] = [a, b]
  while (pending.length > 0) {
    const right = pending.pop()
    const left = pending.pop()
    if (left === right) continue
    const isEqual = compare?.(left, right)
    if (isEqual === true) continue
    if (isEqual === false) return false
    if (!isContainer(left) || !isContainer(right)) return false
    if (!pushChildren(left, right, pending)) return false
  }
  return true
}

/** Adds the pairs of children to `pending`; false if the containers differ in type, length or keys. */
function pushChildren(left: JsonContainer, right: JsonContainer, pending: unknown[]): boolean {
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index += 1) pending.push(left[index], right[index])
    return true
  }
  if (Array.isArray(right)) return false
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  for (const key of keys) {
    if (!Object.hasOwn(right, key)) return false
    pending.push(left[key], right[key])
  }
  return true
}

/** A deep copy. For JSON only: dates, maps and other classes become plain objects. */
export function cloneJson<T>(value: T): T {
  if (!isContainer(value)) return value
  const root = emptyLike(value)
  const pending: JsonContainer[] = [value, root]
  while (pending.length > 0) {
    const to = pending.pop()!
    const from = pending.pop()!
    if (Array.isArray(from)) copyItems(from, to as unknown[], pending)
    else copyFields(from, to as Record<string, unknown>, pending)
  }
  return root as T
}

function copyItems(from: readonly unknown[], to: unknown[], pending: JsonContainer[]): void {
  for (const item of from) to.push(copyOf(item, pending))
}

function copyFields(
  from: Readonly<Record<string, unknown>>,
  to: Record<string, unknown>,
  pending: JsonContainer[],
): void {
  for (const key of Object.keys(from)) setOwn(to, key, copyOf(from[key], pending))
}

/** A scalar itself, or an empty container that is filled later. */
function copyOf(value: unknown, pending: JsonContainer[]): unknown {
  if (!isContainer(value)) return value
  const copy = emptyLike(value)
  pending.push(value, copy)
  return copy
}

function emptyLike(value: JsonContainer): JsonContainer {
  return Array.isArray(value) ? [] : {}
}
