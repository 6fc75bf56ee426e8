/** The children of one object, for those who look after them: where they are known, and how they are written. */
import type { Handler } from '../core/handling/handler.ts'
import type { Nursery } from '../features/reconciling/carry-out.ts'
import type { Parentage } from '../features/reconciling/child-cache.ts'
import type { PresentKind } from '../features/reconciling/children.ts'
import { markOfChild, type Reconciliation } from '../features/reconciling/reconciliation.ts'
import type { KubeObject, ObjectMeta } from '../kube/objects.ts'
import { formatResource } from '../kube/selectors.ts'
import { monotonicOf } from '../util/clock.ts'
import type { Logger } from '../util/log.ts'
import type { Memory } from './memories.ts'
import type { Runtime } from './runtime.ts'

export interface NurseryOptions {
  readonly handler: Handler
  readonly reconciliation: Reconciliation
  readonly logger: Logger
}

export function createNursery(
  runtime: Runtime,
  memory: Memory,
  { handler, reconciliation, logger }: NurseryOptions,
): Nursery {
  const { kinship, session, fieldManager, clock } = runtime
  const own = parentageOf(runtime, handler, memory.body)
  return {
    writer: { session, signal: runtime.writing, fieldManager },
    logger,
    nowMs: () => monotonicOf(clock),
    present: () =>
      kindsPresent(runtime, handler, memory.body).flatMap(({ resource, objects }) => {
        return objects.map((object) => ({ resource, cache: kinship.cacheOf(resource), object }))
      }),
    cacheOf: (resource) => kinship.cacheOf(resource),
    whyUnseen: ({ kind, object }) => {
      const { namespace } = object['metadata'] as { namespace?: string }
      return kinship.whyUnseen(kind, kind.resource?.namespaced === false ? undefined : namespace)
    },
    // The echo may have come before the answer, and been taken for somebody else's doing.
    onWritten: ({ metadata: { uid, resourceVersion } }, end) => {
      reconciliation.markOwn(markOfChild(uid, end === 'gone' ? undefined : resourceVersion), end === 'new')
    },
    rivalOf: ({ kind, object }) => kinship.rivalOf(kind.resource!, object['metadata'] as ObjectMeta, own),
    own,
    onMoved: (concerned) => {
      for (const parentage of concerned) if (parentage.owner !== own.owner) kinship.onMoved(parentage)
    },
    warnOnce: (resource, message) => runtime.warnOnce(resource, 'unkept child', message),
  }
}

/** Those of the object and the reconciler, kind by kind; a kind that is named twice is there once. */
export function kindsPresent(runtime: Runtime, handler: Handler, owner: KubeObject): readonly PresentKind[] {
  const { kinship } = runtime
  const own = parentageOf(runtime, handler, owner)
  const kinds = new Map<string, PresentKind>()
  for (const { resource } of kinship.kindsOf(handler)) {
    if (resource === undefined) continue
    const objects = kinship.cacheOf(resource).of(own)
    kinds.set(formatResource(resource), { resource, objects })
  }
  return [...kinds.values()]
}

/** By what the children of the object and the reconciler are found. */
function parentageOf({ kinship }: Runtime, handler: Handler, { metadata }: KubeObject): Parentage {
  return { owner: metadata.uid ?? '', label: kinship.labelOf(handler), namespace: metadata.namespace }
}
