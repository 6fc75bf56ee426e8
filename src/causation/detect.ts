/** Detects what has happened to an object. The first matching line of the function decides. Pure. */
import type { Diff, Essence, Reason } from './cause.ts'

export interface DetectionInput {
  /** The type of the watch event; null or undefined for an object of a list, and for processing without an event. */
  readonly eventType?: string | null | undefined
  /** `metadata.deletionTimestamp` is set. */
  readonly deleting: boolean
  /** Our finalizer is on the object. */
  readonly blocked: boolean
  /** The last handled essence, as stored. */
  readonly old: Essence | undefined
  readonly diff: Diff
  /** The object existed when the operator started, and has not been handled completely since. */
  readonly initial: boolean
}

export interface DetectedReason {
  readonly reason: Reason
  /** Whether resume handlers are called too; never together with creation. */
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
