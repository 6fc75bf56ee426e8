/**
 * What standing back means for the objects: another operator may be at work on them meanwhile. What a worker has begun is
 * finished; nothing else is begun before the object is seen again. Called by doors.ts and serve.ts.
 */
import type { KubeObject } from '../kube/objects.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'
import type { Visit } from './visit.ts'

/** In the turn in which the streams have ended: whatever is woken later finds the objects left alone. */
export function leaveObjects(
  { queue, background, backlog }: Runtime,
  memories: Iterable<Memory>,
  namespace: string | undefined,
): void {
  // Without a namespace all objects are left alone, those without one included.
  const isLeft = ({ body }: Memory) => namespace === undefined || body.metadata.namespace === namespace
  for (const memory of memories) if (isLeft(memory)) memory.isUnwatched = true
  // The list that comes after the pause has all but the ends, of which nobody tells twice.
  queue.discard(({ type }) => type !== 'deleted', isLeft)
  background.pause(isLeft)
  backlog?.leave(isLeft)
}

/** The object is in sight again. What was to be written is out of date where somebody else has written meanwhile. */
export function takeBack(memory: Memory, { metadata }: KubeObject): void {
  memory.isUnwatched = false
  // Another operator may have been at work on what belongs to it.
  for (const reconciliation of memory.reconciling?.values() ?? []) reconciliation.mark('unwatched')
  if (metadata.resourceVersion === memory.body.metadata.resourceVersion) return
  for (const reconciliation of memory.reconciling?.values() ?? []) reconciliation.steps = undefined
  memory.unwritten = undefined
  memory.progress = undefined
}

/** Whether there is nothing to finish, and what it was woken for has to wait. */
export function isPutOff({ isUnwatched }: Memory, { hasNews, merge, fns }: Visit): boolean {
  return isUnwatched && !hasNews && fns.length === 0 && Object.keys(merge).length === 0
}
