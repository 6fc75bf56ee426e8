/** What happened to an object, as one table: the first line that fits is the answer. Pure. */
import type { Diff, Essence, Reason } from './cause.ts'

export interface DetectionInput {
  /** The type of the watch event; none for an object from a list, or one looked at again without an event. */
  readonly eventType?: string | null | undefined
  /** `metadata.deletionTimestamp` is set. */
  readonly deleting: boolean
  /** Our finalizer is on the object. */
  readonly blocked: boolean
  /** The essence that was handled last, as stored. */
  readonly old: Essence | undefined
  readonly diff: Diff
  /** The object was there when the operator started, and has not been handled to the end since. */
  readonly initial: boolean
}

export interface DetectedReason {
  readonly reason: Reason
  /** Whether handlers for resuming are called too; never together with those for creation. */
  readonly initial: boolean
}

export function detectReason({ eventType, deleting, blocked, old, diff, initial }: DetectionInput): DetectedReason {
  if (eventType === 'DELETED') return { reason: 'gone', initial }
  if (deleting && !blocked) return { reason: 'free', initial }
  if (deleting) return { reason: 'delete', initial }
  if (old === undefined) return { reason: 'create', initial: false }
  if (diff.length > 0) return { reason: 'update', initial }
  return { reason: initial ? 'resume' : 'noop', initial }
}
