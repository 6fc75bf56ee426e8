/** The types of causes: what has happened to an object. Created by detect.ts and diff.ts, and passed to handlers as arguments. */
import type { Json, JsonObject } from '../kube/objects.ts'

/** Whether a field was added, changed or removed. */
export type DiffOperation = 'add' | 'change' | 'remove'

/** One changed field as a tuple: the operation, the path, and the values before and after. */
export type DiffTuple = readonly [op: DiffOperation, path: readonly string[], old: unknown, new: unknown]

/**
 * One changed field: the operation, the path of the field, and the values before and after (undefined if there was none). It can be
 * destructured as an object or as a tuple. In the `data` of a Secret, the old value is a `ConcealedValue` or an object of such values.
 *
 * @example
 * ```ts
 * for (const { op, path, old, new: value } of diff) logger.info(`${op} ${path.join('.')}: ${old} -> ${value}`)
 * for (const [op, path, old, value] of diff) logger.info(`${op} ${path.join('.')}: ${old} -> ${value}`)
 * ```
 */
export type DiffItem = DiffTuple & {
  /** Whether the field was added, changed or removed. */
  readonly op: DiffOperation
  /** The path of the field: `['spec', 'size']`. */
  readonly path: readonly string[]
  /** The value before. Undefined if the field was added. */
  readonly old: unknown
  /** The value after. Undefined if the field was removed. */
  readonly new: unknown
}

/** The changes between two states of an object, one item for each field. Empty if nothing has changed. */
export type Diff = readonly DiffItem[]

/** The part of an object whose changes trigger handlers: without the status, system metadata, and the operator's own annotations. */
export type Essence = { readonly [key: string]: Json }

/**
 * What has happened to an object. The last three start no new handling: `noop` (nothing has changed), `free` (being deleted, without
 * our finalizer) and `gone` (deleted).
 */
export type Reason = 'create' | 'update' | 'delete' | 'resume' | 'noop' | 'free' | 'gone'

/** The reasons for which change handlers are called. */
export type HandlerReason = 'create' | 'update' | 'delete' | 'resume'

export type { Json, JsonObject }

/** The cause of a handler call: for the whole object, or for the part of the change that one handler has not handled yet. */
export interface Cause {
  /** Why the handler is called. */
  readonly reason: HandlerReason
  /** Whether the object existed when the operator started and has not been handled completely since. */
  readonly initial: boolean
  /** The last handled essence; undefined for a new object. */
  readonly old: Essence | undefined
  /** The present essence. */
  readonly new: Essence
  readonly diff: Diff
}

/** The beginnings of log messages, as in Kopf. */
export const titles: Readonly<Record<HandlerReason, string>> = {
  create: 'Creation',
  update: 'Updating',
  delete: 'Deletion',
  resume: 'Resuming',
}
