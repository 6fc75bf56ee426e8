/**
 * JSON values and how to handle those that come from strangers: any key may occur, `__proto__` too, at any depth.
 * The rest of util/ is built on this.
 */

/** Any value that JSON can carry. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type JsonContainer = Json[] | { [key: string]: Json }

export function isContainer(value: unknown): value is JsonContainer {
  return typeof value === 'object' && value !== null
}

export function isPlainObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether it was written as `{}` or made without a prototype, in whatever realm: no instance of a class. */
export function hasPlainPrototype(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Plain assignment to `__proto__` would change the prototype instead of adding the key. */
export function setOwn<V>(target: { [key: string]: V }, key: string, value: V): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    target[key] = value
  }
}

/** The value at a key of its own; never what it inherits, such as `constructor`. */
export function getOwn<V>(target: { readonly [key: string]: V }, key: string): V | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined
}
