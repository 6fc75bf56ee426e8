/** GET of one object, or of its status or scale. */
import type { ApiResponse, ResourceCall } from '../call.ts'
import { whenShown } from '../present.ts'
import { storedAnswer } from '../representation.ts'
import { notFound } from '../status.ts'
import { keyOf, type Stored } from '../storage/stored.ts'
import { checkedVersion, tooLargeVersion, tooOldVersion } from './list.ts'

export function get(call: ResourceCall): ApiResponse | Promise<ApiResponse> {
  const stored = read(call)
  return whenShown(call.resource, [stored], () => storedAnswer(call, 200, stored))
}

/** The current state; with a `stale` fault, an earlier one. */
export function read(call: ResourceCall): Stored {
  const requested = checkedVersion(call.query.get('resourceVersion') ?? '')
  const current = call.readAt ?? call.store.version
  if (requested > current) throw tooLargeVersion(requested, current)
  const collection = call.store.collection(call.resource.collection)
  const key = keyOf(call.path.namespace, call.path.name)
  const stored = call.readAt === undefined ? collection.get(key) : collection.getAt(key, call.readAt)
  if (stored === 'forgotten') throw tooOldVersion()
  if (stored === undefined) throw notFound(call.resource, call.path.name)
  return stored
}
