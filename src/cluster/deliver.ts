/**
 * Delivers the events of the watch streams: to the features at once (indices, idle time), and to the queue for the worker of the object. A replica
 * that does not lead only follows the states.
 */
import type { KubeObject } from '../kube/objects.ts'
import { type Context, observedObject } from '../objects/context.ts'
import { objectKey, type ServedResource } from '../objects/state/served-resource.ts'
import { WatchedObject } from '../objects/state/watched-object.ts'
import { isComparable, isOlder } from '../watching/resource-version.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'

export type ServedEvent = Exclude<ReflectedEvent, { type: 'listed' }>

export function deliver(context: Context, served: ServedResource, event: ServedEvent): void {
  const key = objectKey(event.object)
  const known = served.objects.get(key)
  if (served.isOnlyIndexed) {
    deliverToIndices(context, served, event)
    return
  }
  if (context.leadership.isCandidate) {
    deliverToCandidate(context, served, event)
    return
  }
  if (known === undefined && isOlder(event.object.metadata.resourceVersion, served.filteredOut.get(key))) return
  const isListed = event.type === 'applied' && event.event === null
  const object = known ?? watch(served, event.object, { isInitial: isListed })
  if (event.type === 'deleted') deliverDeleted(context, object, event)
  else deliverApplied(context, object, event, { isKnown: known !== undefined })
}

function deliverDeleted(
  context: Context,
  object: WatchedObject,
  { object: last, missed }: Extract<ServedEvent, { type: 'deleted' }>,
): void {
  context.observer?.eventReceived?.({ object: observedObject(object), type: 'DELETED' })
  context.features.deletionReported(object)
  enqueue(context, object, { type: 'deleted', object: last, missed })
}

function deliverApplied(
  context: Context,
  object: WatchedObject,
  event: Extract<ServedEvent, { type: 'applied' }>,
  { isKnown }: { readonly isKnown: boolean },
): void {
  const { served } = object
  const isListed = event.event === null
  context.observer?.eventReceived?.({ object: observedObject(object), type: event.event })
  const isBack = object.isUnwatched
  if (isBack) resumeObject(context, object, event.object)
  if (isBack || (isListed && !isKnown)) context.catchUp?.found(object)
  object.state.share(event.object)
  context.features.observed(object, event.object, 'watch')
  if (isKnown && !isBack && isEcho(object, event.object)) return
  const isKept = served.handlers.event.length > 0 && context.largeObjects.canWaitInStates(event.object)
  const priority = isListed ? 'backlog' : 'now'
  enqueue(context, object, { type: 'seen', event: event.event, object: event.object, isKept }, priority)
  // After a pause the object is processed even if nothing has changed: daemons start again, retries go on.
  if (isBack) enqueue(context, object, { type: 'wake' }, 'backlog')
}

function enqueue(
  { queue, observer }: Context,
  object: WatchedObject,
  event: Parameters<Context['queue']['put']>[1],
  priority: 'now' | 'backlog' = 'now',
): void {
  queue.put(object, event, priority)
  observer?.objectQueued?.({ object: observedObject(object), priority })
}

/** The watch shows the object after a pause. If another operator has changed it meanwhile, unwritten patches and remembered progress are outdated. */
function resumeObject({ features }: Context, object: WatchedObject, { metadata }: KubeObject): void {
  object.markResumed()
  const isChanged = metadata.resourceVersion !== object.state.version
  features.resumed(object, isChanged)
  if (!isChanged) return
  object.writes.keepUnwritten(undefined)
  object.handled.keepProgress(undefined)
}

/** A resource with indexing functions only: its objects are not queued, and their bodies are not kept. */
function deliverToIndices(context: Context, served: ServedResource, event: ServedEvent): void {
  const key = objectKey(event.object)
  const known = served.objects.get(key)
  if (event.type === 'applied') {
    const object = known ?? watch(served, toIdentity(event.object), { isInitial: false })
    context.features.observed(object, event.object, 'watch')
  } else if (known !== undefined) {
    context.features.forgotten(known)
    served.objects.delete(key)
  }
}

function toIdentity({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, creationTimestamp } = metadata
  return { apiVersion, kind, metadata: { name, namespace, uid, creationTimestamp } as KubeObject['metadata'] }
}

/**
 * Another replica leads. A candidate keeps the last state of every object, and forgets deleted ones: when it becomes the leader, it starts with what a
 * list would show, without a list.
 */
function deliverToCandidate(context: Context, served: ServedResource, event: ServedEvent): void {
  const known = served.objects.get(objectKey(event.object))
  if (event.type === 'deleted') {
    if (known !== undefined) forgetObject(context, known)
    return
  }
  const object = known ?? watch(served, event.object, { isInitial: true })
  object.state.share(event.object)
  context.features.observed(object, event.object, 'watch')
  object.state.follow(event.object)
  context.queue.put(object, { type: 'seen', event: null, object: event.object, isKept: false }, 'backlog')
}

/** For a candidate, the end of an object has no other consequences. */
export function forgetObject(context: Context, object: WatchedObject): void {
  context.features.forgotten(object)
  context.queue.drop(object)
  object.served.objects.delete(objectKey(object.body))
}

function watch(served: ServedResource, body: KubeObject, options: { readonly isInitial: boolean }): WatchedObject {
  const object = new WatchedObject(served, body, options)
  served.objects.set(objectKey(body), object)
  return object
}

/** The watch echoes our own writes. Without event handlers there is nothing to do for them. */
function isEcho({ served, state, isEnding }: WatchedObject, { metadata }: KubeObject): boolean {
  // An object that was reported as deleted matches the selector again: that is news in any state.
  if (served.handlers.event.length > 0 || isEnding) return false
  const { resourceVersion } = metadata
  // Without comparable versions the echo is needed: states that were held until it came are older (observed-state.ts).
  if (!isComparable(resourceVersion)) return false
  return resourceVersion === state.version || isOlder(resourceVersion, state.version)
}
