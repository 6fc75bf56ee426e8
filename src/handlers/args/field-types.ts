/**
 * Types of field paths: whether a path such as `spec.size` exists in the type of an object, and the type of its value. Computed for one
 * path, not as a union of all paths, since a Pod has thousands. Types only: util/json/paths.ts resolves paths at run time, and does not
 * enter lists either.
 */
import type { ObjectMeta } from '../../kube/objects.ts'
import type { DeepReadonly } from '../../util/json/deep-types.ts'

/** The path itself if it exists in the type or if the type is open. Otherwise a string type whose text is the error message. */
export type CheckedPath<T, P> = [ProblemOf<Lookup<T, P>>] extends [never] ? P : ProblemOf<Lookup<T, P>>

/**
 * The type of the value at a path, without undefined. `any` or `unknown` in open types, such as `Record<string, any>`; `unknown` for a path
 * that is not a literal.
 */
export type ValueAt<T, P> = ValueOf<Lookup<T, P>>

/** The result of a lookup is wrapped: otherwise a value of the type `any` or `string` could not be distinguished from an error message. */
interface FoundField<V> {
  readonly found: V
}
interface PathProblem<S> {
  readonly problem: S
}

type ProblemOf<L> = L extends PathProblem<infer S> ? S : never
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

type WalkPath<T, Keys extends readonly string[], Done extends string = ''> = Keys extends readonly [
  infer Key extends string,
  ...infer Rest extends readonly string[],
]
  ? IsOpen<T> extends true
    ? FoundField<T>
    : string extends Key
      ? FoundField<unknown>
      : [FieldOf<NonNullable<T>, Key>] extends [never]
        ? PathProblem<PathComplaint<NonNullable<T>, Key, Done>>
        : WalkPath<FieldOf<NonNullable<T>, Key>, Rest, Done extends '' ? Key : `${Done}.${Key}`>
  : FoundField<T>

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

type PathComplaint<T, Key extends string, Done extends string> = [T] extends [readonly unknown[]]
  ? `${Done} is a list, and is compared as a whole: use the path ${Done}`
  : [T] extends [NoFields]
    ? `${Done} has no fields: write a key with dots in an array, such as ['metadata', 'labels', 'example.com/size']`
    : `${Done extends '' ? 'the object' : Done} has no field ${Key}`

/** A literal of a pattern: any JSON value except null. Only a callback can match null. */
type JsonPattern = string | number | boolean | bigint | readonly unknown[] | { readonly [key: string]: unknown }

/** A literal of the field's type. Integers beyond 2^53 are bigints in bodies, so patterns of number fields accept bigints. */
type EqualTo<V> = unknown extends V ? JsonPattern : Exclude<V, null | undefined> | (V extends number ? bigint : never)

/** A pattern for a field: a literal, or a callback that gets the value, or undefined if the object does not have the field. */
export type ValuePatternOf<V, A> = EqualTo<V> | ((value: V | undefined, args: A) => unknown)
