/**
 * Copies of what users hand over: objects alone or in lists, lists of lists, plain or of some client's classes.
 * For owners.ts, which edits the copies, and for users (`deepCopy`). Nothing here recurses, and the originals stay as they are.
 */
import { KopfError } from '../errors.ts'
import type { Mutable } from '../util/deep-types.ts'
import { isPlainObject, setOwn } from '../util/json.ts'
import { lazyMemberAt } from '../util/lazy-json.ts'

export type Fields = Record<string, unknown>

/** Dotted, or the keys one by one where a key has dots in it. */
export type TemplatePath = string | readonly string[]

/**
 * A copy that can be changed, and that shares nothing with the original: of a body, of a part of it, or of any other object.
 * Objects that handlers get are frozen, and typed as read-only at every depth; the copy is neither. It works on the live objects of
 * daemons too, which `structuredClone` refuses: the copy is the state at that moment, and stays so. Dates, maps and other
 * instances that are more than their fields are not copied but kept, since JSON has none of them.
 *
 * @example
 * ```ts
 * kopf.on.update(Database, async ({ body, client }) => {
 *   const copy = deepCopy(body)
 *   copy.spec.users.push('alice')
 *   await client.replace(Database, copy)
 * })
 * ```
 */
export function deepCopy<T>(value: T): Mutable<T> {
  return copyObjects(value) as Mutable<T>
}

/**
 * A deep copy. Objects keep their class, so that those of client libraries stay what they are; dates, maps and
 * everything else that is more than its fields is shared.
 */
export function copyObjects<T>(value: T): T {
  const pending: Array<readonly [from: object, to: object]> = []
  const copies = new Map<object, object>()
  const copyOf = (one: unknown): unknown => {
    if (!isCopyable(one)) return one
    const known = copies.get(one)
    if (known !== undefined) return known
    const copy = Array.isArray(one) ? [] : Object.create(Object.getPrototypeOf(one))
    copies.set(one, copy)
    pending.push([one, copy])
    return copy
  }
  const result = copyOf(value)
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [from, to] = pair
    if (Array.isArray(from)) for (const one of from) (to as unknown[]).push(copyOf(one))
    else copyFields(from as Fields, to as Fields, copyOf)
  }
  return result as T
}

/** A member of a large object that is kept as text is parsed into a value of its own: parsing it for the copy alone is enough. */
function copyFields(from: Fields, to: Fields, copyOf: (one: unknown) => unknown): void {
  for (const key of Object.keys(from)) {
    const member = lazyMemberAt(from, key)
    setOwn(to, key, member === undefined ? copyOf(from[key]) : member.copy())
  }
}

function isCopyable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]'
}

/** The objects in lists of any depth, in their order. Null and undefined are passed over, as Kopf does. */
export function flattenObjects(value: unknown): Fields[] {
  return flatten(value).filter((one): one is Fields => {
    if (one === undefined || one === null) return false
    if (isPlainObject(one)) return true
    throw new KopfError('KOPF_OBJECT', `Cannot edit a ${typeof one}: give a Kubernetes object, or an array of them`)
  })
}

function flatten(value: unknown): unknown[] {
  const leaves: unknown[] = []
  const pending: unknown[] = [value]
  while (pending.length > 0) {
    const one = pending.pop()
    if (Array.isArray(one)) for (let at = one.length - 1; at >= 0; at -= 1) pending.push(one[at])
    else leaves.push(one)
  }
  return leaves
}

/** What is at the path, where there is anything: a template in an object, or each of those in a list on the way. */
export function findTemplates(object: Fields, path: TemplatePath): Fields[] {
  const keys = typeof path === 'string' ? path.split('.') : path
  let found: Fields[] = [object]
  for (const key of keys) {
    const values = found.filter((fields) => Object.hasOwn(fields, key)).flatMap((fields) => flatten(fields[key]))
    found = values.filter(isPlainObject)
  }
  return found
}
