/** Helpers for decoded objects: their shape is checked, but their keys may be chosen by the client. */
import type { KubeObject } from '../../kube/objects.ts'

/** An object with unknown fields. */
export type ObjectFields = { [key: string]: unknown }

export function isFields(value: unknown): value is ObjectFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A field of a decoded object, typed by the caller: the decoder has checked the types of all fields. */
export function part<T>(object: KubeObject | ObjectFields, name: string): Partial<T> {
  return (object[name] ?? {}) as Partial<T>
}

/** Semantic equality of the API: absent, null, an empty list and an empty map are equal. */
export function isEqual(left: unknown, right: unknown): boolean {
  const pending: Array<readonly [unknown, unknown]> = [[left, right]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [a, b] = pair
    if (a === b || (isEmpty(a) && isEmpty(b))) continue
    if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
      for (const [index, element] of a.entries()) pending.push([element, b[index]])
    } else if (isFields(a) && isFields(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        pending.push([Object.hasOwn(a, key) ? a[key] : undefined, Object.hasOwn(b, key) ? b[key] : undefined])
      }
    } else return false
  }
  return true
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}
