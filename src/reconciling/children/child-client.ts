/**
 * Creates the `ChildClient` of one object and one reconciler: it reads children from the children index and gives sync.ts what it needs to write them.
 * Called by object-reconcilers.ts. Sends no requests itself.
 */
import type { ReconcileHandler } from '../../handlers/handler.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'
import { formatResource } from '../../kube/resources/selectors.ts'
import { observedObject, toObserved } from '../../objects/context.ts'
import type { WatchedObject } from '../../objects/state/watched-object.ts'
import { monotonicNow } from '../../util/async/clock.ts'
import type { Logger } from '../../util/log/log.ts'
import type { ReconcilingContext } from '../context.ts'
import { childTrigger, type ReconcilerState } from '../reconciler-state.ts'
import type { OwnerKeyOfChild } from '../sources/child-cache.ts'
import { triggerParent } from '../sources/triggers.ts'
import type { ChildrenOfKind } from './children-arg.ts'
import type { ChildClient } from './sync.ts'

export interface ChildClientOptions {
  readonly handler: ReconcileHandler
  readonly state: ReconcilerState
  readonly logger: Logger
}

export function createChildClient(
  context: ReconcilingContext,
  object: WatchedObject,
  { handler, state, logger }: ChildClientOptions,
): ChildClient {
  const { childrenIndex, session, fieldManager, clock } = context
  const own = ownerKeyOf(context, handler, object.body)
  return {
    writer: { session, signal: context.writesSignal, fieldManager },
    logger,
    nowMs: () => monotonicNow(clock),
    present: () =>
      childrenByKind(context, handler, object.body).flatMap(({ resource, objects }) => {
        return objects.map((child) => ({ resource, cache: childrenIndex.cacheOf(resource), object: child }))
      }),
    cacheOf: (resource) => childrenIndex.cacheOf(resource),
    whyUnlisted: ({ kind, object: child }) => {
      const { namespace } = child['metadata'] as { namespace?: string }
      return childrenIndex.whyUnlisted(kind, kind.resource?.namespaced === false ? undefined : namespace)
    },
    // The watch event of this write may arrive before the response and look like a write by another manager: drop its trigger.
    onWritten: ({ metadata: { uid, resourceVersion } }, effect) => {
      state.addOwnWrite(childTrigger(uid, effect === 'gone' ? undefined : resourceVersion), effect === 'new')
    },
    competitorOf: ({ kind, object: child }) =>
      childrenIndex.competitorOf(kind.resource!, child['metadata'] as ObjectMeta, own),
    own,
    onMoved: (affected) => {
      for (const ownerKey of affected) if (ownerKey.owner !== own.owner) triggerParent(context, ownerKey, {})
    },
    report: (event, resource, child) =>
      context.observer?.[event]?.({ owner: observedObject(object), child: toObserved(resource, child) }),
    warnOnce: (resource, message) => context.warnOnce(resource, 'dropped by child', message),
  }
}

/** The existing children of the object that this reconciler created, by kind. A kind that occurs twice in `owns` is returned once. */
export function childrenByKind(
  context: ReconcilingContext,
  handler: ReconcileHandler,
  owner: KubeObject,
): readonly ChildrenOfKind[] {
  const { childrenIndex } = context
  const own = ownerKeyOf(context, handler, owner)
  const kinds = new Map<string, ChildrenOfKind>()
  for (const { resource } of childrenIndex.kindsOf(handler)) {
    if (resource === undefined) continue
    const objects = childrenIndex.cacheOf(resource).of(own)
    kinds.set(formatResource(resource), { resource, objects })
  }
  return [...kinds.values()]
}

/** The key under which the index has the children that this reconciler created for the object. */
function ownerKeyOf(
  { childrenIndex }: ReconcilingContext,
  handler: ReconcileHandler,
  { metadata }: KubeObject,
): OwnerKeyOfChild {
  return { owner: metadata.uid ?? '', label: childrenIndex.labelOf(handler), namespace: metadata.namespace }
}
