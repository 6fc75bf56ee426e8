/** JSON values from outside, in which any key may occur, including `__proto__`: type guards and safe access to own fields. */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type JsonContainer = Json[] | { [key: string]: Json }

export function isContainer(value: unknown): value is JsonContainer {
  return typeof value === 'object' && value !== null
}

export function isPlainObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether the object is no instance of a class: written as `{}`, in any realm, or created without a prototype. */
export function hasPlainPrototype(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Sets an own field. A plain assignment to `__proto__` would change the prototype instead. */
export function setOwn<V>(target: { [key: string]: V }, key: string, value: V): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    target[key] = value
  }
}

/** The value of an own field; undefined for inherited ones, such as `constructor`. */
export function getOwn<V>(target: { readonly [key: string]: V }, key: string): V | undefined {
  return Object.hasOwn(target, key) ? target[key] : undefined
}

type UnknownFields = { readonly [key: string]: unknown }

/** The string at an own key; undefined for anything else. */
export function getString(target: UnknownFields, key: string): string | undefined {
  const value = getOwn(target, key)
  return typeof value === 'string' ? value : undefined
}

/** The object at an own key; undefined for anything else, also for a list. */
export function getObject(target: UnknownFields, key: string): { [key: string]: Json } | undefined {
  const value = getOwn(target, key)
  return isPlainObject(value) ? value : undefined
}

/** The list at an own key; empty for anything else. */
function getList(target: UnknownFields, key: string): readonly unknown[] {
  const value = getOwn(target, key)
  return Array.isArray(value) ? value : []
}

/** The strings in the list at an own key, without items of other types. */
export function getStrings(target: UnknownFields, key: string): string[] {
  return getList(target, key).filter((item) => typeof item === 'string')
}

/** The objects in the list at an own key, without items of other types. */
export function getObjects(target: UnknownFields, key: string): { [key: string]: Json }[] {
  return getList(target, key).filter(isPlainObject)
}
