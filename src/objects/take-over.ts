/**
 * After a change of the leader: the last writes of the former leader may not have come by our watch yet. Its handlers were called for them and must
 * not be called again, so an object whose state is older than our leadership is read once before its handlers are called.
 */
import { readObject } from '../patching/apply-patch.ts'
import { isOlder } from '../watching/resource-version.ts'
import type { Context } from './context.ts'
import type { WatchedObject } from './state/watched-object.ts'
import { acceptState } from './writes.ts'

/** At most one request per object, and none without a change of the leader. */
export async function readAfterTakeover(
  context: Context,
  object: WatchedObject,
): Promise<'same' | 'newer' | 'not-found'> {
  const { session, writesSignal: signal } = context
  const { tookOverAt } = context.leadership
  const { state } = object
  if (tookOverAt === undefined || state.wasRead || isOlder(tookOverAt, state.version)) return 'same'
  const fresh = await readObject({ session, resource: object.served.resource, signal }, object.body)
  state.markRead()
  if (fresh === undefined) {
    state.markNotFound()
    return 'not-found'
  }
  if (!acceptState(context, object, fresh, 'read')) return 'same'
  await context.features.settled(object)
  return 'newer'
}
