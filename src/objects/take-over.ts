/**
 * Prevents repeated handler calls after a change of the leader. The watch may not have delivered the last writes of the former leader yet, whose handlers
 * have been called already. So an object whose known state is older than this leadership is read once before its handlers are called.
 */
import { readObject } from '../patching/apply-patch.ts'
import { isOlder } from '../watching/resource-version.ts'
import type { Context } from './context.ts'
import type { WatchedObject } from './state/watched-object.ts'
import { acceptState } from './writes.ts'

/** Sends at most one request per object, and none without a change of the leader. */
export async function readAfterTakeover(
  context: Context,
  object: WatchedObject,
): Promise<'same' | 'newer' | 'not-found'> {
  const { session, writesSignal: signal } = context
  const { tookOverAt } = context.leadership
  const { state } = object
  if (tookOverAt === undefined || state.wasRead || isOlder(tookOverAt, state.version)) return 'same'
  const fresh = await readObject(
    { session, resource: object.served.resource, signal, purpose: 'handling' },
    object.body,
  )
  state.markRead()
  if (fresh === undefined) {
    state.markNotFound()
    return 'not-found'
  }
  if (!acceptState(context, object, fresh, { from: 'read' })) return 'same'
  await context.features.settled(object)
  return 'newer'
}
