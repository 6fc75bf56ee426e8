/** Types of objects that are read-only at every depth. Types only. */

type Primitive = string | number | boolean | bigint | symbol | null | undefined

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
