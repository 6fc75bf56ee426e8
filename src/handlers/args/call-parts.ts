/** Types of the parts of one handler call: sub-handlers and steps. Types only; changes/ has the implementation. */

/** The outcome of a finished sub-handler, in the result of `execute()`. */
export interface SubhandlerOutcome {
  /** The full id of the sub-handler: `<id of the parent>/<own id>`. */
  readonly id: string
  /** Whether the sub-handler succeeded. False if it failed permanently: by a `PermanentError`, or after its last attempt. */
  readonly succeeded: boolean
  /** The result of the sub-handler, read from `status.<id>` of the object. Undefined if the schema of the resource drops that field. */
  readonly result: unknown
  /** The message of the error with which the sub-handler failed. Undefined if it succeeded. */
  readonly message: string | undefined
  /** The number of calls of the sub-handler. */
  readonly attempts: number
}

/** The options of `execute()`. */
export interface ExecuteOptions {
  /** Whether the parent fails with a `PermanentError` if a sub-handler has failed permanently. Default: false; the parent continues. */
  readonly throwOnFailure?: boolean
}

/** The type of a value after a round trip through JSON; `never` for the parts that JSON cannot represent. */
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

/** The type of the `step` argument: runs a function once and stores its result, which must be JSON. The id is unique within the handler. */
export type Step = <T>(id: string, fn: (() => T | Promise<T>) & MustBeJson<T>) => Promise<T>
