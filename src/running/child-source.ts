/** The children of one kind: from their stream into the cache that all know them by. Made by relations.ts. */
import type { ReflectedEvent } from '../core/watching/events.ts'
import type { WatchSelectors } from '../core/watching/scope.ts'
import { isOlder } from '../core/watching/versions.ts'
import type { Parentage } from '../features/reconciling/child-cache.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources.ts'
import type { Runtime } from './runtime.ts'
import type { Source } from './sources.ts'

export interface ChildSourceOptions {
  readonly resource: Resource
  readonly selectors: WatchSelectors
  /** Called for each parent that has a child more, less, or another than before; the version is undefined at its end. */
  readonly onChanged: (parentage: Parentage, state: { readonly uid?: string; readonly version?: string }) => void
  /** All children that are there have been seen, or cannot be for now. `isFirst`: nothing was known of them before. */
  readonly onSeen: (namespace: string | undefined, isFirst: boolean) => void
}

export function createChildSource({ kinship }: Runtime, options: ChildSourceOptions): Source {
  const { resource, selectors, onChanged, onSeen } = options
  const cache = kinship.cacheOf(resource)
  const begun = new Set<string | undefined>()
  const seen = (namespace: string | undefined) => {
    onSeen(namespace, !begun.has(namespace))
    begun.add(namespace)
  }
  /** What a list has brought while something newer was known: after a restored backup, that is all there is. */
  const older = new Map<string, KubeObject>()
  const put = (object: KubeObject, isForced: boolean) => {
    const { uid, resourceVersion } = object.metadata
    const state = { ...(uid && { uid }), ...(resourceVersion && { version: resourceVersion }) }
    for (const parentage of cache.put(object, { isForced })) onChanged(parentage, state)
  }
  const take = (event: ReflectedEvent, namespace: string | undefined) => {
    if (event.type === 'deleted') {
      const { uid } = event.object.metadata
      for (const parentage of cache.remove(event.object)) onChanged(parentage, { ...(uid && { uid }) })
    } else if (event.type === 'applied') {
      const { uid = '', resourceVersion } = event.object.metadata
      if (event.event === null && isOlder(resourceVersion, cache.versionOf(uid))) older.set(uid, event.object)
      put(event.object, false)
    } else {
      if (event.rewound) for (const object of older.values()) put(object, true)
      older.clear()
      kinship.note(resource, namespace, 'seen')
      seen(namespace)
    }
  }
  return {
    resource,
    selectors,
    keepsManagedFields: true,
    take,
    onBegin: (namespace) => kinship.note(resource, namespace, 'pending'),
    onBroken: (namespace, why) => {
      // What was seen before is better than nothing.
      if (kinship.sightOf(resource, namespace) === 'seen') return
      kinship.note(resource, namespace, { why })
      seen(namespace)
    },
    onClosed: (namespace) => kinship.forget(resource, namespace),
  }
}
