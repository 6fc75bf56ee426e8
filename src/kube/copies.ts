/**
 * Deep copies of objects from users: single objects or nested lists, plain or of a client library's classes.
 * For owners.ts, which edits the copies, and for users (`deepCopy`). Nothing here recurses or changes the originals.
 */
import { KopfError } from '../errors.ts'
import type { Mutable } from '../util/json/deep-types.ts'
import { isPlainObject, setOwn } from '../util/json/json.ts'
import { lazyMemberAt } from '../util/json/lazy-json.ts'

export type CopiedFields = Record<string, unknown>

/** A dotted path, or a list of keys if a key contains dots. */
export type TemplatePath = string | readonly string[]

/**
 * Returns a mutable deep copy of a body, of a part of it, or of any other object.
 *
 * Objects that handlers get are frozen and read-only at every depth; the copy is neither. It also works for the live objects of daemons,
 * which `structuredClone` cannot copy: the copy has the state of this moment. Values with internal state, such as dates and
 * maps, are shared with the original, since JSON has none.
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

/** A deep copy. Objects keep their class, for example that of a client library; values with internal state, such as dates, are shared. */
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
    else copyFields(from as CopiedFields, to as CopiedFields, copyOf)
  }
  return result as T
}

/** A member of a large object that is kept as text is parsed for the copy: a parsed value is already a copy. */
function copyFields(from: CopiedFields, to: CopiedFields, copyOf: (one: unknown) => unknown): void {
  for (const key of Object.keys(from)) {
    const member = lazyMemberAt(from, key)
    setOwn(to, key, member === undefined ? copyOf(from[key]) : member.copy())
  }
}

function isCopyable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]'
}

/** The objects in nested lists, in their order. Null and undefined are skipped, as in Kopf. */
export function flattenObjects(value: unknown): CopiedFields[] {
  return flatten(value).filter((one): one is CopiedFields => {
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

/** The templates at a path, none if it does not exist. A list on the path stands for each of its items. */
export function findTemplates(object: CopiedFields, path: TemplatePath): CopiedFields[] {
  const keys = typeof path === 'string' ? path.split('.') : path
  let found: CopiedFields[] = [object]
  for (const key of keys) {
    const values = found.filter((fields) => Object.hasOwn(fields, key)).flatMap((fields) => flatten(fields[key]))
    found = values.filter(isPlainObject)
  }
  return found
}
