/**
 * Delivers the events of the watch streams: to the features at once (indices, idle time), and through the queue to the worker of
 * the object. A replica that is not the leader only keeps the last states.
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
  if (isKnown && !isBack && isEcho(object, event.object)) {
    reportIfStale(context, object, event.object)
    return
  }
  const isKept = served.handlers.event.length > 0 && context.largeObjects.canWaitInStates(event.object)
  const priority = isListed ? 'backlog' : 'now'
  enqueue(context, object, { type: 'seen', event: event.event, object: event.object, isKept }, priority)
  // After a pause the object is processed even if it has not changed, so that daemons start again and retries continue.
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

/**
 * Called when the watch shows the object again after a pause. If another operator has changed the object meanwhile, unwritten
 * patches and remembered progress are outdated and dropped.
 */
function resumeObject({ features }: Context, object: WatchedObject, { metadata }: KubeObject): void {
  object.markResumed()
  const isChanged = metadata.resourceVersion !== object.state.version
  features.resumed(object, isChanged)
  if (!isChanged) return
  object.writes.keepUnwritten(undefined)
  object.handled.keepProgress(undefined)
}

/** For a resource with index handlers only: its objects are not queued, and their bodies are not kept. */
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
 * For a replica that is not the leader. It keeps the last state of every object and forgets deleted ones, so that a new leader
 * starts from the state that a list would show, without a list request.
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

/** Forgets an object on a replica that is not the leader. No handler is called for it. */
export function forgetObject(context: Context, object: WatchedObject): void {
  context.features.forgotten(object)
  context.queue.drop(object)
  object.served.objects.delete(objectKey(object.body))
  context.observer?.objectForgotten?.({ object: observedObject(object) })
}

function watch(served: ServedResource, body: KubeObject, options: { readonly isInitial: boolean }): WatchedObject {
  const object = new WatchedObject(served, body, options)
  served.objects.set(objectKey(body), object)
  return object
}

/** Another state than that of the last write of the operator: the watch lags behind the writes. */
function reportIfStale({ observer }: Context, object: WatchedObject, { metadata }: KubeObject): void {
  if (observer?.staleStateDropped === undefined) return
  if (metadata.resourceVersion !== object.state.version) observer.staleStateDropped({ object: observedObject(object) })
}

/** Whether the event repeats our own write. Without event handlers it needs no processing. */
function isEcho({ served, state, isEnding }: WatchedObject, { metadata }: KubeObject): boolean {
  // An object that was reported as deleted matches the selector again. This event is always processed.
  if (served.handlers.event.length > 0 || isEnding) return false
  const { resourceVersion } = metadata
  // If versions cannot be compared, the event is needed: the states held back until it arrives are older (observed-state.ts).
  if (!isComparable(resourceVersion)) return false
  return resourceVersion === state.version || isOlder(resourceVersion, state.version)
}
