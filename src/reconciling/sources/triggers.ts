/** Wakes the reconcilers of objects when their children or watched objects have changed. Used by owned-and-watched.ts and child-client.ts. */
import type { ReconcileHandler } from '../../handlers/handler.ts'
import type { ServedResource } from '../../objects/state/served-resource.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import { type ReconcilingContext, reconcilerStateOf } from '../context.ts'
import { childTrigger, watchedTrigger } from '../reconciler-state.ts'
import { canOwn, type OwnerKeyOfChild } from './child-cache.ts'
import type { MappedOwner } from './map-func.ts'

/** A state of a child; without a version if the child was deleted. */
export interface ChildState {
  readonly uid?: string
  readonly version?: string
}

/** Called when a child was added, changed or deleted. */
export function triggerParent(
  context: ReconcilingContext,
  { owner, label, namespace }: OwnerKeyOfChild,
  { uid, version }: ChildState,
): void {
  for (const served of context.served.values()) {
    const object = served.objects.get(owner)
    if (object === undefined || !canOwn(object.body.metadata.namespace, namespace)) continue
    for (const handler of served.handlers.reconcile) {
      if (context.childrenIndex.labelOf(handler) === label) {
        triggerReconciler(context, object, { handler, trigger: childTrigger(uid, version) })
      }
    }
  }
}

/** Called with the owners that the map function returned for a changed object. */
export function triggerOwners(
  context: ReconcilingContext,
  handler: ReconcileHandler,
  owners: readonly MappedOwner[],
): void {
  for (const { namespace, name } of owners) {
    for (const served of servedBy(context, handler)) {
      const object = served.objects.named(served.resource.namespaced ? namespace : undefined, name)
      if (object !== undefined) triggerReconciler(context, object, { handler, trigger: watchedTrigger })
    }
  }
}

/**
 * Called when the children in a scope are listed. The first time, it triggers all parents in the scope; later, only those that waited for the list or ran
 * without it.
 */
export function triggerListed(
  context: ReconcilingContext,
  handlers: readonly ReconcileHandler[],
  { namespace, isFirst }: { readonly namespace: string | undefined; readonly isFirst: boolean },
): void {
  for (const handler of handlers) {
    for (const { objects } of servedBy(context, handler)) {
      for (const object of objects.values()) {
        const own = object.body.metadata.namespace
        if (namespace !== undefined && own !== undefined && own !== namespace) continue
        const { ranUnsynced, isWaiting } = reconcilerStateOf(object, handler)
        if (isFirst || ranUnsynced || isWaiting) {
          triggerReconciler(context, object, { handler, trigger: 'listed', priority: 'backlog' })
        }
      }
    }
  }
}

interface Trigger {
  readonly handler: ReconcileHandler
  readonly trigger: string
  readonly priority?: 'now' | 'backlog'
}

function triggerReconciler(
  { queue }: ReconcilingContext,
  object: WatchedObject,
  { handler, trigger, priority = 'now' }: Trigger,
): void {
  reconcilerStateOf(object, handler).addTrigger(trigger)
  queue.put(object, { type: 'wake' }, priority)
}

function* servedBy({ served }: ReconcilingContext, handler: ReconcileHandler): Iterable<ServedResource> {
  for (const one of served.values()) if (one.handlers.reconcile.includes(handler)) yield one
}
