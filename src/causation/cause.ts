/** What can have happened to an object. Made by detect.ts, asked by handling/, told to users as arguments. */
import type { Json, JsonObject } from '../kube/objects.ts'

/** Whether a field has come, has another value, or has gone. */
export type DiffOperation = 'add' | 'change' | 'remove'

/**
 * What was done, where (the keys on the way), and the values before and after; undefined where there was none. The value before is a
 * `ConcealedValue` (or an object of them) in the `data` of a Secret.
 */
export type DiffItem = readonly [operation: DiffOperation, field: readonly string[], old: unknown, new: unknown]

/** What has changed between two states of an object: one item for each field, empty where nothing has. */
export type Diff = readonly DiffItem[]

/** The part of a body that counts as a change: no status, no system metadata, nothing of ours. */
export type Essence = { readonly [key: string]: Json }

/** What an object can go through; the last three are only logged. */
export type Reason = 'create' | 'update' | 'delete' | 'resume' | 'noop' | 'free' | 'gone'

/** The reasons handlers are called for. */
export type HandlerReason = 'create' | 'update' | 'delete' | 'resume'

export type { Json, JsonObject }

/** What has happened, as handlers are told; for one object, or for the part of it that one handler has not seen yet. */

export interface Cause {
  readonly reason: HandlerReason
  readonly initial: boolean
  readonly old: Essence | undefined
  readonly new: Essence
  readonly diff: Diff
}

/** The beginnings of messages, as in Kopf. */
export const titles: Readonly<Record<HandlerReason, string>> = {
  create: 'Creation',
  update: 'Updating',
  delete: 'Deletion',
  resume: 'Resuming',
}
