/** The types of an explanation: the result of `Operator.explain`, and the JSON of `kopf explain`. */
import type { DiffOperation, Reason } from '../causation/cause.ts'
import type { Decision } from '../causation/decide.ts'
import type { KubeObject } from '../kube/objects.ts'

/** The progress of a handler, as stored on the object. Times are the texts on the object. */
export interface StoredProgress {
  /** The handler id. For a record of an unknown handler: the name of the annotation without its prefix. */
  readonly id: string
  /** The annotations or the status field in which the record was found. */
  readonly places: readonly string[]
  /** `due`: it is to be called. `waiting`: it waits for its next attempt. `succeeded`, `failed`: it has finished. */
  readonly state: 'due' | 'waiting' | 'succeeded' | 'failed'
  /** The reason for which the handling began, such as `create`. */
  readonly purpose?: string
  /** The number of attempts so far. */
  readonly retries: number
  readonly started?: string
  readonly stopped?: string
  /** The time of the next attempt. */
  readonly delayed?: string
  /** The message of the last error. */
  readonly message?: string
  /** The ids of its sub-handlers at any depth. */
  readonly subhandlers: readonly string[]
}

/** A field that differs from the last handled state. */
export interface ExplainedChange {
  readonly operation: DiffOperation
  readonly field: readonly string[]
  readonly old?: unknown
  readonly new?: unknown
}

/** Whether a handler is called for the object, and why. */
export interface HandlerVerdict {
  readonly id: string
  readonly kind: string
  /**
   * - `now`: it is called now.
   * - `later`: it is called on the occasion that `why` names.
   * - `runs`: it runs in the background (daemons, timers, reconcilers).
   * - `done`: it has finished, and waits for the other handlers of the cycle.
   * - `no`: it is not called.
   * - `unclear`: its filter has failed.
   */
  readonly verdict: 'now' | 'later' | 'runs' | 'done' | 'no' | 'unclear'
  /** The explanation in one sentence. */
  readonly why: string
  /** The time of `later`, if it is known. */
  readonly at?: string
}

/** Fields of a child that another field manager has written since the operator's last apply. The operator keeps those that its reconciler does not set. */
export interface ForeignFields {
  readonly manager: string
  readonly time: string
  /** At most 20. */
  readonly fields: readonly string[]
}

/** A child of a reconciler, as it is on the cluster. */
export interface ExplainedChild {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** The position of its group in the result of the reconciler: children of later groups wait for those of earlier ones. */
  readonly group: number
  /** Whether it is ready by the rules of its kind. Functions `ready` of groups are not called. */
  readonly isReady: boolean
  /** The deletion timestamp, if the child is being deleted. */
  readonly deleting?: string
  /** When the operator last changed the child by server-side apply. */
  readonly applied?: string
  /** By managed fields: the desired state is not stored, and is not computed here. */
  readonly foreign: readonly ForeignFields[]
}

/** The options of `Operator.explain`. */
export interface ExplanationOptions {
  /** Objects of the kinds in `owns`, with `metadata.managedFields`; others than the children are ignored. Default: the explanation has no children. */
  readonly children?: readonly KubeObject[] | undefined
}

/**
 * A reconciler of the object. The times of its last and its next call are in the memory of the operator and are not stored on the object, so they
 * are not part of an explanation.
 */
export interface ExplainedReconciler {
  readonly id: string
  /** The kinds of its children. */
  readonly owns: readonly string[]
  /** The kinds of other objects whose changes lead to a call. */
  readonly watches: readonly string[]
  /** The option `resync` in seconds: the longest time until the next call after a success. */
  readonly resync?: number
  /** When it last changed a child. */
  readonly lastApplied?: string
  /** The existing children. Absent if they were not given. */
  readonly children?: readonly ExplainedChild[]
}

/**
 * The explanation of one object: the stored handling state, the decision of the operator, and a verdict for each handler.
 * Returned by `Operator.explain` and printed by `kopf explain`.
 */
export interface Explanation {
  /** `plural.version.group` */
  readonly resource: string
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly created?: string
  /** The deletion timestamp, if the object is being deleted. */
  readonly deleting?: string
  readonly finalizers: ReadonlyArray<{ readonly name: string; readonly isOurs: boolean }>
  /** Descriptions of the progress storage and the diff-base storage, and the name of the operator's finalizer. */
  readonly storage: { readonly progress: string; readonly lastHandled: string; readonly finalizer: string }
  /** `never`: the object was never handled. `is`: its present state is handled. `changed`: it has changed since. */
  readonly handled: 'never' | 'is' | 'changed'
  /** The changes since the last handled state. Values of Secrets are concealed. */
  readonly changes: readonly ExplainedChange[]
  /** The stored progress of handlers. */
  readonly progress: readonly StoredProgress[]
  /** Other annotations of this operator and of other operators built on Kopf, by prefix. */
  readonly annotations: ReadonlyArray<{
    readonly prefix: string
    readonly isOurs: boolean
    readonly names: readonly string[]
  }>
  /** The reason that an operator detects which is already running. */
  readonly reason: Reason
  /** The next action of a running operator for the object. */
  readonly decision: Decision
  /** The verdict for each handler of the resource. */
  readonly handlers: readonly HandlerVerdict[]
  /** The reconcilers of the resource, with their children. */
  readonly reconcilers: readonly ExplainedReconciler[]
  /** The condition `ChildrenApplied` of the object: the result of the last apply. Absent if children never had a problem. */
  readonly childrenApplied?: {
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly since: string
  }
  /** Additional remarks in full sentences. */
  readonly notes: readonly string[]
}
