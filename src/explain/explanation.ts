/** The result of `operator.explain()`. Types only: explain.ts creates the values. */
import type { DiffOperation, Reason } from '../causation/cause.ts'
import type { Decision } from '../causation/decide.ts'

/** The progress of one handler that is stored on an object. Times are texts, as on the object. */
export interface StoredProgress {
  /** The id of the handler. For a handler that is not registered: the name of the annotation without its prefix. */
  readonly id: string
  /** The annotations or the field that contain the progress. */
  readonly places: readonly string[]
  /** Whether the handler is due now, waits for a retry, has succeeded, or has failed permanently. */
  readonly state: 'due' | 'waiting' | 'succeeded' | 'failed'
  /** The reason of the handling, such as `create`. Absent: any reason. */
  readonly purpose?: string
  /** The number of attempts so far. */
  readonly retries: number
  /** When the first attempt began. */
  readonly started?: string
  /** When the handler succeeded or failed permanently. */
  readonly stopped?: string
  /** When the next attempt is due. */
  readonly delayed?: string
  /** The message of the last error. */
  readonly message?: string
  /** The ids of its sub-handlers, at any depth. */
  readonly subhandlers: readonly string[]
}

/** A field that differs from the last handled state. */
export interface ExplainedChange {
  /** Whether the field was added, changed or removed. */
  readonly operation: DiffOperation
  /** The path of the field. */
  readonly field: readonly string[]
  /** The last handled value. */
  readonly old?: unknown
  /** The current value. */
  readonly new?: unknown
}

/** Whether a handler is called for an object, and why. */
export interface HandlerVerdict {
  /** The id of the handler. */
  readonly id: string
  /** The handler type: `create`, `timer` and so on. */
  readonly kind: string
  /**
   * `now`: the handler is called now. `later`: it is called at a later time, see `why`. `runs`: a daemon or timer that runs for the object. `done`: it
   * has finished, but other handlers have not. `no`: it is not called. `unclear`: its filter has thrown an error.
   */
  readonly verdict: 'now' | 'later' | 'runs' | 'done' | 'no' | 'unclear'
  /** The reason for the verdict, as a sentence. */
  readonly why: string
  /** The time of the next call for `later`, if it is known. */
  readonly at?: string
}

/** The result of `operator.explain()`: the data that is stored on an object, and why each handler would be called for it or not. */
export interface Explanation {
  /** The resource: `plural.version.group`. */
  readonly resource: string
  /** The `apiVersion` of the object. */
  readonly apiVersion: string
  /** The kind of the object. */
  readonly kind: string
  /** The namespace of the object. Absent for cluster-scoped objects. */
  readonly namespace?: string
  /** The name of the object. */
  readonly name: string
  /** When the object was created. */
  readonly created?: string
  /** When the deletion of the object was requested. Absent if the object is not being deleted. */
  readonly deleting?: string
  /** The finalizers of the object; `isOurs` for the finalizer of this operator. */
  readonly finalizers: ReadonlyArray<{ readonly name: string; readonly isOurs: boolean }>
  /** Where the operator stores the progress and the last handled state, and the name of its finalizer. */
  readonly storage: { readonly progress: string; readonly lastHandled: string; readonly finalizer: string }
  /** Whether the object was `never` handled, was handled in its current state (`is`), or has `changed` since it was handled. */
  readonly handled: 'never' | 'is' | 'changed'
  /** The differences between the last handled state and the current one. The values of a Secret are concealed. */
  readonly changes: readonly ExplainedChange[]
  /** The stored progress of handlers. */
  readonly progress: readonly StoredProgress[]
  /** Further annotations of this and other operators, by prefix; `isOurs` for the prefixes of this operator. */
  readonly annotations: ReadonlyArray<{
    readonly prefix: string
    readonly isOurs: boolean
    readonly names: readonly string[]
  }>
  /** The reason that a running operator would detect for the object, such as `update`. */
  readonly reason: Reason
  /** The next action of a running operator for the object. */
  readonly decision: Decision
  /** The verdict for each handler of the resource. */
  readonly handlers: readonly HandlerVerdict[]
  /** Further hints, as sentences: for example, that startup handlers are not called. */
  readonly notes: readonly string[]
}
