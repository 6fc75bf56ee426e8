/** The types of the journal: what happened to one object, oldest entry first. The dashboard's API and `kopf explain --history` have them as JSON. */

/** An object, as the journal and the views of the dashboard name it. */
export interface ObjectRef {
  /** `plural.version.group`, such as `databases.v1.example.com`; `pods.v1` for the core group. */
  readonly resource: string
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

/** A changed field. Values of Secrets and of sensitive fields are replaced before they enter the journal. At most 200 characters per value. */
export interface FieldChange {
  readonly operation: 'add' | 'change' | 'remove'
  readonly path: string
  readonly old?: string
  readonly new?: string
  /** The id of the handler that wrote the field, if it is known. */
  readonly by?: string
}

/**
 * - `retry`: calls the handlers that wait for their next attempt after an error now, also daemons, timers and reconcilers.
 * - `reconcile`: calls the reconcilers of the object now.
 * - `release`: removes the operator's finalizer. The clean-up of the operator is skipped.
 *
 * Each needs a permission of that name on the object: a rule with the verb `retry`, `reconcile` or `release` on the resource.
 */
export type ActionName = 'retry' | 'reconcile' | 'release'

interface JournalEntryBase {
  /** Increases by one with each entry of the run. */
  readonly id: number
  readonly atMs: number
}

/** What an entry of the journal says, without its id and time. */
export type JournalContent =
  | {
      readonly type: 'state'
      /** `null`: listed. */
      readonly event: 'ADDED' | 'MODIFIED' | 'DELETED' | null
      readonly resourceVersion?: string
      readonly changes: readonly FieldChange[]
      /** The number of changes that are not in `changes`. */
      readonly moreChanges: number
    }
  /** `decision` and `reason` of causation/decide.ts, and the sentence that `kopf explain` prints. */
  | { readonly type: 'decision'; readonly decision: string; readonly reason: string; readonly why: string }
  | {
      readonly type: 'handler'
      readonly handler: string
      readonly handlerType: string
      readonly retry: number
      readonly outcome: 'running' | 'succeeded' | 'retrying' | 'failed' | 'cancelled'
      readonly durationMs?: number
      readonly delayMs?: number
      /** The message, without the stack trace. At most 1,000 characters. */
      readonly error?: string
    }
  | {
      readonly type: 'write'
      readonly purpose: 'handling' | 'checkpoint' | 'background' | 'reconcile'
      readonly requests: number
      /** Set if the write adds or removes the operator's finalizer, and changes nothing else. */
      readonly only?: 'finalizer'
      readonly changes: readonly FieldChange[]
      readonly moreChanges: number
    }
  | { readonly type: 'child'; readonly action: 'applied' | 'deleted' | 'contention'; readonly child: ObjectRef }
  | { readonly type: 'event'; readonly eventType: string; readonly reason: string; readonly message: string }
  | {
      readonly type: 'daemon'
      readonly action: 'started' | 'stopped' | 'fired'
      readonly handler: string
      readonly latenessMs?: number
    }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'action'; readonly action: ActionName; readonly user: string }

/** One entry of the journal of an object. */
export type JournalEntry = JournalEntryBase & JournalContent
