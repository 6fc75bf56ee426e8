/**
 * Objects that exist under the names of children and are left alone on purpose (`existing: 'leave'`). The operator does not watch them, so
 * it looks again after a while whether the name is free: one record per child says when. A look costs two requests. Pure.
 */

export interface UnmanagedChild {
  /** `Secret "db"`, for the condition. */
  readonly name: string
  /** How long after the last look the next one is. */
  readonly delayMs: number
  /** When to look again; by the monotonic clock. */
  readonly nextMs: number
}

const firstDelayMs = 60_000
const maxDelayMs = 600_000

/** The record after a look has found the object, for the first time or again. */
export function recordUnmanaged(before: UnmanagedChild | undefined, name: string, nowMs: number): UnmanagedChild {
  const delayMs = Math.min(before === undefined ? firstDelayMs : before.delayMs * 2, maxDelayMs)
  return { name, delayMs, nextMs: nowMs + delayMs }
}

/** The owner, or an object that its reconciler watches, has changed: the name of the child may be free now. */
export function recheckNow(left: Map<string, UnmanagedChild>): void {
  for (const [key, one] of left) left.set(key, { ...one, nextMs: -Infinity })
}
