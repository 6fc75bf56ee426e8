/** The children of one object for one reconciler: finds them in the index, and says how they are written. */
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
import type { PresentKind } from './children-arg.ts'
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
      kindsPresent(context, handler, object.body).flatMap(({ resource, objects }) => {
        return objects.map((child) => ({ resource, cache: childrenIndex.cacheOf(resource), object: child }))
      }),
    cacheOf: (resource) => childrenIndex.cacheOf(resource),
    whyUnseen: ({ kind, object: child }) => {
      const { namespace } = child['metadata'] as { namespace?: string }
      return childrenIndex.whyUnseen(kind, kind.resource?.namespaced === false ? undefined : namespace)
    },
    // The watch echo of our write may come before the response and look like a write by another manager.
    onWritten: ({ metadata: { uid, resourceVersion } }, end) => {
      state.addOwnWrite(childTrigger(uid, end === 'gone' ? undefined : resourceVersion), end === 'new')
    },
    competitorOf: ({ kind, object: child }) =>
      childrenIndex.competitorOf(kind.resource!, child['metadata'] as ObjectMeta, own),
    own,
    onMoved: (concerned) => {
      for (const ownerKey of concerned) if (ownerKey.owner !== own.owner) triggerParent(context, ownerKey, {})
    },
    report: (event, resource, child) =>
      context.observer?.[event]?.({ owner: observedObject(object), child: toObserved(resource, child) }),
    warnOnce: (resource, message) => context.warnOnce(resource, 'dropped by child', message),
  }
}

/** The children of the object and the reconciler, by kind; a kind that is named twice occurs once. */
export function kindsPresent(
  context: ReconcilingContext,
  handler: ReconcileHandler,
  owner: KubeObject,
): readonly PresentKind[] {
  const { childrenIndex } = context
  const own = ownerKeyOf(context, handler, owner)
  const kinds = new Map<string, PresentKind>()
  for (const { resource } of childrenIndex.kindsOf(handler)) {
    if (resource === undefined) continue
    const objects = childrenIndex.cacheOf(resource).of(own)
    kinds.set(formatResource(resource), { resource, objects })
  }
  return [...kinds.values()]
}

/** The key of the children of the object and the reconciler in the index. */
function ownerKeyOf(
  { childrenIndex }: ReconcilingContext,
  handler: ReconcileHandler,
  { metadata }: KubeObject,
): OwnerKeyOfChild {
  return { owner: metadata.uid ?? '', label: childrenIndex.labelOf(handler), namespace: metadata.namespace }
}
