/**
 * Copies of what users hand over: objects alone or in lists, lists of lists, plain or of some client's classes.
 * For owners.ts, which edits the copies; nothing here recurses, and the originals stay as they are.
 */
import { KopfError } from '../errors.ts'
import { isPlainObject, setOwn } from '../util/json.ts'

export type Fields = Record<string, unknown>

/** Dotted, or the keys one by one where a key has dots in it. */
export type TemplatePath = string | readonly string[]

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
    else for (const [key, one] of Object.entries(from)) setOwn(to as Fields, key, copyOf(one))
  }
  return result as T
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
