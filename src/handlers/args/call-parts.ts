/** Types of the parts of one handler call: sub-handlers and steps. */

/** What has come of one sub-handler, when it is finished. */
export interface SubhandlerOutcome {
  /** The full id: that of the parent, a slash, and its own. */
  readonly id: string
  /** False where it has failed for good: by a `PermanentError`, or after its last attempt. */
  readonly succeeded: boolean
  /** What the status of the object holds under the id: the result, where there is one and the schema has a place for it. */
  readonly result: unknown
  /** The message of the error that it failed with; undefined where it succeeded. */
  readonly message: string | undefined
  /** How often it was called. */
  readonly attempts: number
}

/** The options of `execute`. */
export interface ExecuteOptions {
  /** Fails the handler with a `PermanentError` when all sub-handlers are finished and some have failed. By default, it goes on. */
  readonly throwOnFailure?: boolean
}

/** What is the same after it was JSON; `never` in place of what is not. */
type JsonOf<T> = T extends string | number | boolean | bigint | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly JsonOf<Item>[]
    : T extends symbol | ((...args: never[]) => unknown) | Date | Iterable<unknown>
      ? never
      : T extends object
        ? { readonly [K in keyof T]: JsonOf<T[K]> }
        : T

type MustBeJson<T> = [T] extends [JsonOf<T>]
  ? unknown
  : 'The result of a step has to be JSON: no Date, Map or function in it'

/** Runs a function once; its result has to be JSON. */
export type Step = <T>(id: string, fn: (() => T | Promise<T>) & MustBeJson<T>) => Promise<T>
