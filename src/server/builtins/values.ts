/** Small words for objects whose shape the decoder has made sure of, but whose keys may be the client's. */
import type { KubeObject } from '../../kube/objects.ts'

/** An object of which nothing is known but that it is one. */
export type Fields = { [key: string]: unknown }

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A part of a decoded object in the shape its reader needs: the decoder has checked the types of all fields. */
export function part<T>(object: KubeObject | Fields, name: string): Partial<T> {
  return (object[name] ?? {}) as Partial<T>
}

/** Equality as the API sees it: what is absent equals what is null or an empty list or map. */
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
