/** Types that are read-only or mutable at every depth. Types only. */

export type Primitive = string | number | boolean | bigint | symbol | null | undefined

/**
 * The type with every field, list and tuple in it read-only. Functions, primitives, also branded ones (`string & { … }`), and
 * classes with a form of their own in JSON, such as `Date`, stay as they are.
 */
export type DeepReadonly<T> = T extends Primitive | ((...args: never[]) => unknown) | { toJSON(): unknown }
  ? T
  : T extends readonly (infer Item)[]
    ? number extends T['length']
      ? readonly DeepReadonly<Item>[]
      : { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T

/**
 * The type without `readonly` at every depth: every field, list and tuple can be changed, as in the result of `deepCopy`.
 *
 * @example
 * ```ts
 * function addUser(spec: Mutable<Spec<ObjectOf<typeof Database>>>): void {
 *   spec.users.push('alice')
 * }
 * ```
 */
export type Mutable<T> = T extends Primitive | ((...args: never[]) => unknown)
  ? T
  : T extends readonly (infer Item)[]
    ? number extends T['length']
      ? Mutable<Item>[]
      : { -readonly [K in keyof T]: Mutable<T[K]> }
    : T extends object
      ? { -readonly [K in keyof T]: Mutable<T[K]> }
      : T

/**
 * A merge patch of a type: all fields optional, and null to delete a field. Lists are replaced as a whole, so that their items are complete;
 * read-only lists of a body are accepted.
 */
export type MergePatch<T> = T extends Primitive
  ? T
  : T extends readonly unknown[]
    ? DeepReadonly<T>
    : T extends object
      ? MergePatchObject<T>
      : T

type MergePatchObject<T> = { [K in keyof T]?: MergePatch<T[K]> | null }
