/**
 * Types of field paths. `CheckedPath` and `ValueAt` follow one path through the type of an object, level by level, since a Pod has thousands of
 * paths. `PathsOf` is the union of all paths, for types of custom resources. Types only: util/json/paths.ts resolves paths at run time,
 * and does not enter lists either.
 */
import type { DeepReadonly } from '../../util/json/deep-types.ts'
import type { ObjectMeta } from '../objects.ts'

/**
 * The path itself. If it does not exist in the type, the paths that can replace it: editors complete them, and the compiler reports an error and
 * suggests the most similar one. Any path is allowed in open types.
 */
export type CheckedPath<T, P> = [Alternatives<T, P>] extends [never] ? P : Alternatives<T, P>

/**
 * The type of the value at a path, without undefined. `any` or `unknown` in open types, such as `Record<string, any>`; `unknown` for a path
 * that is not a literal.
 */
export type ValueAt<T, P> = ValueOf<Lookup<T, P>>

/**
 * All dotted paths of an object type as a union: `'spec' | 'spec.size' | 'metadata' | 'metadata.name'` and so on, down to the sixth level.
 * Lists are not entered. Below an open type, any path is allowed.
 */
export type PathsOf<T> = PathsIn<WithMetadata<T>, '', readonly [1, 2, 3, 4, 5, 6]>

type PathsIn<T, Prefix extends string, Depth extends readonly unknown[]> = Depth extends readonly [
  unknown,
  ...infer Deeper,
]
  ? IsOpen<T> extends true
    ? `${Prefix}${string}`
    : {
        [K in KeysOf<NonNullable<T>>]:
          | `${Prefix}${K}`
          | ([FieldOf<NonNullable<T>, K>] extends [NoFields | null | undefined]
              ? never
              : PathsIn<FieldOf<NonNullable<T>, K>, `${Prefix}${K}.`, Deeper>)
      }[KeysOf<NonNullable<T>>]
  : never

/** Whether the value was found. Wrapped, since a value of the type `any` or `never` could not be distinguished from a missing field. */
interface FoundField<V> {
  readonly found: V
}
interface MissingField {
  readonly found?: never
}

type ValueOf<L> = L extends FoundField<infer V> ? (unknown extends V ? V : DeepReadonly<Exclude<V, undefined>>) : never

/** Adds `metadata` to types that do not declare it: every object has metadata. */
type WithMetadata<T> = 'metadata' extends keyof T ? T : T & { readonly metadata?: ObjectMeta }

type Lookup<T, P> = P extends string
  ? string extends P
    ? FoundField<string extends keyof T ? T[keyof T] : unknown>
    : WalkPath<WithMetadata<T>, Split<P>>
  : P extends readonly string[]
    ? number extends P['length']
      ? FoundField<string extends keyof T ? T[keyof T] : unknown>
      : WalkPath<WithMetadata<T>, P>
    : never

type Split<P extends string, Keys extends readonly string[] = []> = P extends `${infer Key}.${infer Rest}`
  ? Split<Rest, readonly [...Keys, Key]>
  : readonly [...Keys, P]

type WalkPath<T, Keys extends readonly string[]> = Keys extends readonly [
  infer Key extends string,
  ...infer Rest extends readonly string[],
]
  ? IsOpen<T> extends true
    ? FoundField<T>
    : string extends Key
      ? FoundField<unknown>
      : [FieldOf<NonNullable<T>, Key>] extends [never]
        ? MissingField
        : WalkPath<FieldOf<NonNullable<T>, Key>, Rest>
  : FoundField<T>

/** The paths that can replace a path that does not exist in the type. Never if it exists, or if the path is not a literal. */
type Alternatives<T, P> = P extends string
  ? string extends P
    ? never
    : AlternativesAt<WithMetadata<T>, Split<P>, P>
  : P extends readonly string[]
    ? number extends P['length']
      ? never
      : AlternativesAt<WithMetadata<T>, P, P>
    : never

/** Follows the keys as far as they exist. `P` is the whole path, `Done` are the keys that exist. */
type AlternativesAt<
  T,
  Keys extends readonly string[],
  P,
  Done extends readonly string[] = readonly [],
> = Keys extends readonly [infer Key extends string, ...infer Rest extends readonly string[]]
  ? IsOpen<T> extends true
    ? never
    : string extends Key
      ? never
      : [FieldOf<NonNullable<T>, Key>] extends [never]
        ? SiblingPaths<NonNullable<T>, Keys, P, Done>
        : AlternativesAt<FieldOf<NonNullable<T>, Key>, Rest, P, readonly [...Done, Key]>
  : never

/**
 * The paths of the fields that the type has. For a list or a scalar, which have no fields, its own path. Not a union with a name: the
 * compiler would print the name instead of the paths.
 */
type SiblingPaths<T, Keys extends readonly string[], P, Done extends readonly string[]> = [T] extends [NoFields]
  ? FormatPath<Done, P> | (P extends string ? KeyWithDots<T, Done, Keys> : never)
  : { [K in KeysOf<T>]: FormatPath<readonly [...Done, K], P> }[KeysOf<T>]

/** A path beyond a scalar may be a key that contains dots, such as that of a label. It must be written as a list of keys. */
type KeyWithDots<T, Done extends readonly string[], Keys extends readonly string[]> = T extends readonly unknown[]
  ? never
  : Done extends readonly [...infer Before extends readonly string[], infer Last extends string]
    ? readonly [...Before, `${Last}.${Join<Keys>}`]
    : never

type FormatPath<Keys extends readonly string[], P> = P extends string ? Join<Keys> : Keys

type Join<Keys extends readonly string[]> = Keys extends readonly [infer Key extends string]
  ? Key
  : Keys extends readonly [infer Key extends string, ...infer Rest extends readonly string[]]
    ? `${Key}.${Join<Rest>}`
    : ''

/** The names of the fields, for every member of a union. Symbols and the methods of scalars are no fields. */
type KeysOf<T> = T extends NoFields ? never : `${Exclude<keyof T, symbol>}`

/**
 * Whether any path is allowed in the type: `any`, `unknown`, `{}` and `object`. Other libraries use `{}` and `object` for arbitrary JSON.
 */
type IsOpen<T> = unknown extends T ? true : [T] extends [object] ? ([keyof T] extends [never] ? true : false) : false

/** The type of one field. For a union, the field of any member that has it; `never` if none has it. */
type FieldOf<T, Key extends string> = T extends NoFields
  ? never
  : Key extends keyof T
    ? T[Key]
    : Key extends `${infer N extends number}`
      ? N extends keyof T
        ? T[N]
        : never
      : never

type NoFields = string | number | boolean | bigint | symbol | readonly unknown[] | ((...args: never[]) => unknown)
