/**
 * Pauses the objects of the operator, or of one namespace: another operator may handle them meanwhile. A running worker finishes; nothing else starts
 * before the watch shows the object again. Called by run/bootstrap.ts.
 */
import type { Context } from '../objects/context.ts'
import type { WatchedObject } from '../objects/state/watched-object.ts'

/** Runs synchronously when the streams stop, before any timer can fire: nothing starts on an object during the pause. */
export function pauseObjects({ queue, features, catchUp, served }: Context, namespace: string | undefined): void {
  // Without a namespace the pause is for all objects, cluster-scoped ones included.
  const isPaused = ({ body }: WatchedObject) => namespace === undefined || body.metadata.namespace === namespace
  for (const object of served.objects()) if (isPaused(object)) object.markUnwatched()
  // The list after the pause shows all objects, but does not repeat reported deletions.
  queue.discard(({ type }) => type !== 'deleted', isPaused)
  features.paused(isPaused)
  catchUp?.leave(isPaused)
}
