/** What there is to say about one object and the handlers of an operator. Types only; made by explain.ts. */
import type { DiffOperation, Reason } from '../causation/cause.ts'
import type { Decision } from '../causation/decide.ts'

/** How far a handler has come with the object, as it is stored there. Moments are texts as on the object. */
export interface StoredProgress {
  /** Of the handler; of one that nobody has registered, the name of the annotation without its prefix. */
  readonly id: string
  /** The annotations or the field that it was found in. */
  readonly places: readonly string[]
  readonly state: 'due' | 'waiting' | 'succeeded' | 'failed'
  readonly purpose?: string
  readonly retries: number
  readonly started?: string
  readonly stopped?: string
  readonly delayed?: string
  readonly message?: string
  /** Ids of its sub-handlers, of any depth. */
  readonly subhandlers: readonly string[]
}

/** A field that differs from the last handled state. */
export interface ExplainedChange {
  readonly operation: DiffOperation
  readonly field: readonly string[]
  readonly old?: unknown
  readonly new?: unknown
}

/** Whether a handler is called for an object, and why. */
export interface HandlerVerdict {
  readonly id: string
  readonly kind: string
  /**
   * `now`: it is called now. `later`: when its time comes, as `why` says. `runs`: beside the object. `done`: it has
   * finished, and the others have not. `no`: it is not called. `unclear`: its filter has failed.
   */
  readonly verdict: 'now' | 'later' | 'runs' | 'done' | 'no' | 'unclear'
  readonly why: string
  /** When `later` is, where it is known. */
  readonly at?: string
}

/** What is stored on an object, and why each handler is called for it or is not. */
export interface Explanation {
  /** `plural.version.group` */
  readonly resource: string
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly created?: string
  /** Since when it is being deleted. */
  readonly deleting?: string
  readonly finalizers: ReadonlyArray<{ readonly name: string; readonly isOurs: boolean }>
  /** Where the operator keeps what it has to remember, and the finalizer it puts on. */
  readonly storage: { readonly progress: string; readonly lastHandled: string; readonly finalizer: string }
  /** `never` handled; handled as it `is`; `changed` since then. */
  readonly handled: 'never' | 'is' | 'changed'
  /** Of what was handled last and what is there now; nothing that is in a Secret. */
  readonly changes: readonly ExplainedChange[]
  readonly progress: readonly StoredProgress[]
  /** Further annotations of operators on Kopf or on this, by their prefixes. */
  readonly annotations: ReadonlyArray<{
    readonly prefix: string
    readonly isOurs: boolean
    readonly names: readonly string[]
  }>
  /** What has happened to the object, as an operator that runs already sees it. */
  readonly reason: Reason
  /** What a running operator does next with the object. */
  readonly decision: Decision
  readonly handlers: readonly HandlerVerdict[]
  /** Whatever else there is to know. */
  readonly notes: readonly string[]
}
