/**
 * Types of field paths: whether a path such as `spec.size` exists in the type of an object, and the type of the value there.
 * Worked out for the one path given, never as a union of all paths: a Pod has thousands. Types only; paths are resolved in
 * util/json/paths.ts, which these types follow: a path never leads into a list.
 */
import type { ObjectMeta } from '../../kube/objects.ts'
import type { DeepReadonly } from '../../util/json/deep-types.ts'

/** The path itself where it exists in the type, or where the type is open; otherwise a sentence that says what is wrong. */
export type CheckedPath<T, P> = [ProblemOf<Lookup<T, P>>] extends [never] ? P : ProblemOf<Lookup<T, P>>

/**
 * The type of the value at a path, never undefined. `any` or `unknown` in open types, such as `Record<string, any>`;
 * `unknown` for a path that is not a literal.
 */
export type ValueAt<T, P> = ValueOf<Lookup<T, P>>

/** Wrapped, since a value type such as `any` or `string` could be taken for a problem. */
interface FoundField<V> {
  readonly found: V
}
interface PathProblem<S> {
  readonly problem: S
}

type ProblemOf<L> = L extends PathProblem<infer S> ? S : never
type ValueOf<L> = L extends FoundField<infer V> ? (unknown extends V ? V : DeepReadonly<Exclude<V, undefined>>) : never

/** Every object has metadata, also where its type does not mention it. */
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

/** `any` and `unknown`; also `{}` and `object`, which the types of others use for JSON of any kind. */
type IsOpen<T> = unknown extends T ? true : [T] extends [object] ? ([keyof T] extends [never] ? true : false) : false

/** Of a union, the field in any of its members; never where none has it. */
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

/** Equal to what JSON can hold, but for null, which only a callback can ask for. */
type JsonPattern = string | number | boolean | bigint | readonly unknown[] | { readonly [key: string]: unknown }

/** Integers beyond 2^53 are bigints in bodies, and so in patterns. */
type EqualTo<V> = unknown extends V ? JsonPattern : Exclude<V, null | undefined> | (V extends number ? bigint : never)

/** A value to be equal to, or a function that is called with the value; undefined where the object has none. */
export type ValuePatternOf<V, A> = EqualTo<V> | ((value: V | undefined, args: A) => unknown)
