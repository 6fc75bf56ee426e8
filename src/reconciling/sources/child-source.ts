/** Fills the index with the children of one kind, from their watch stream. Created by owned-and-watched.ts. */

import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources/resources.ts'
import { describeError } from '../../util/log/describe-error.ts'
import type { WatchSelectors } from '../../watching/label-pushdown.ts'
import { isOlder } from '../../watching/resource-version.ts'
import type { StreamSource } from '../../watching/stream-pool.ts'
import type { ReflectedEvent } from '../../watching/watch-events.ts'
import type { OwnerKeyOfChild } from './child-cache.ts'
import type { ChildrenIndex } from './children-index.ts'
import type { ChildState } from './triggers.ts'

export interface ChildSourceOptions {
  readonly resource: Resource
  readonly selectors: WatchSelectors
  /** Called for each parent of a child that was added, changed or deleted; a deleted child has no version. */
  readonly onChanged: (key: OwnerKeyOfChild, state: ChildState) => void
  /** Called when all existing children are listed, or cannot be listed for now. `isFirst` is true for the first call per scope. */
  readonly onListed: (namespace: string | undefined, isFirst: boolean) => void
}

export function createChildSource(childrenIndex: ChildrenIndex, options: ChildSourceOptions): StreamSource {
  const { resource, selectors, onChanged, onListed } = options
  const cache = childrenIndex.cacheOf(resource)
  const reported = new Set<string | undefined>()
  const reportListed = (namespace: string | undefined) => {
    onListed(namespace, !reported.has(namespace))
    reported.add(namespace)
  }
  /** Listed states that are older than the known ones: after etcd was restored from a backup, they are the current states. */
  const older = new Map<string, KubeObject>()
  const put = (object: KubeObject, isForced: boolean) => {
    const { uid, resourceVersion } = object.metadata
    const state = { ...(uid && { uid }), ...(resourceVersion && { version: resourceVersion }) }
    for (const key of cache.put(object, { isForced })) onChanged(key, state)
  }
  const take = (event: ReflectedEvent, namespace: string | undefined) => {
    if (event.type === 'deleted') {
      const { uid } = event.object.metadata
      for (const key of cache.remove(event.object)) onChanged(key, { ...(uid && { uid }) })
    } else if (event.type === 'applied') {
      const { uid = '', resourceVersion } = event.object.metadata
      if (event.event === null && isOlder(resourceVersion, cache.versionOf(uid))) older.set(uid, event.object)
      put(event.object, false)
    } else {
      if (event.rewound) for (const object of older.values()) put(object, true)
      older.clear()
      childrenIndex.setListing(resource, namespace, 'listed')
      reportListed(namespace)
    }
  }
  return {
    resource,
    selectors,
    keepsManagedFields: true,
    take,
    onBegin: (namespace) => childrenIndex.setListing(resource, namespace, 'pending'),
    onBroken: (namespace, error) => {
      // The children that were listed before stay usable.
      if (childrenIndex.listingOf(resource, namespace) === 'listed') return
      childrenIndex.setListing(resource, namespace, { why: describeError(error) })
      reportListed(namespace)
    },
    onClosed: (namespace) => childrenIndex.forget(resource, namespace),
  }
}
