/** Causes: the reasons for calling handlers, and the changes of an object. detect.ts creates them; handlers get them as arguments. Types only. */
import type { Json, JsonObject } from '../kube/objects.ts'

/** Whether a field was added, changed or removed. */
export type DiffOperation = 'add' | 'change' | 'remove'

/**
 * One difference between two states of an object: the operation, the path of the field as a list of keys, the old value and the new value. A value is
 * undefined if the field did not exist. The old values in the `data` of a Secret are of the class `ConcealedValue`.
 *
 * @example
 * ```ts
 * ['change', ['spec', 'size'], 1, 2]
 * ```
 */
export type DiffItem = readonly [operation: DiffOperation, field: readonly string[], old: unknown, new: unknown]

/** The differences between two states of an object, one item per field. Empty if nothing has changed. The argument `diff` of handlers. */
export type Diff = readonly DiffItem[]

/** The essence of an object: the fields whose changes trigger handlers. Without status, system metadata and the operator's own annotations. */
export type Essence = { readonly [key: string]: Json }

/**
 * The reason that was detected for an object. Handlers are called for `create`, `update`, `delete` and `resume`. `noop`: nothing has changed. `free`: the
 * object is being deleted, and our finalizer is not on it. `gone`: the object is deleted.
 */
export type Reason = 'create' | 'update' | 'delete' | 'resume' | 'noop' | 'free' | 'gone'

/** The reasons for which change handlers are called. */
export type HandlerReason = 'create' | 'update' | 'delete' | 'resume'

export type { Json, JsonObject }

/** The cause of a handler call: for the whole change of an object, or for the part of the change that one handler has not handled yet. */
export interface Cause {
  readonly reason: HandlerReason
  readonly initial: boolean
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
}

/** The first words of log messages, as in Kopf. */
export const titles: Readonly<Record<HandlerReason, string>> = {
  create: 'Creation',
  update: 'Updating',
  delete: 'Deletion',
  resume: 'Resuming',
}
