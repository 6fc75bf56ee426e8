/**
 * When the objects of a resource are served in another version of it from now on, or with other handlers: what is remembered of
 * them passes on, so that what is under way for them is not begun a second time.
 */
import type { Registry } from '../core/handling/registry.ts'
import type { Resource } from '../kube/resources.ts'
import { unindex } from './indexing.ts'
import { allHandlers, isOnlyIndexed, type Served } from './memories.ts'
import { forgetVersions } from './rewinding.ts'
import type { Runtime } from './runtime.ts'

/** Kind and scope cannot change for as long as a definition is there: if they have, it is another one, and so are all objects. */
export function isSameKind(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural && a.kind === b.kind && a.namespaced === b.namespaced
}

export function isOtherVersion(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural && a.version !== b.version
}

export function hasSameHandlers(registry: Registry, { handlers }: Served, resource: Resource): boolean {
  const [before, after] = [allHandlers(handlers), allHandlers(registry.handlersFor(resource))]
  return before.length === after.length && before.every((handler, position) => handler === after[position])
}

/** Of objects that are only indexed too little is remembered to go on with. */
export function canSucceed(registry: Registry, from: Served, resource: Resource): boolean {
  return isSameKind(from.resource, resource) && from.isOnlyIndexed === isOnlyIndexed(registry.handlersFor(resource))
}

/** The states that we know are in the old version: all are taken in anew. */
export function takeOver(runtime: Runtime, from: Served, to: Served): void {
  for (const [key, memory] of from.memories) {
    unindex(runtime, memory)
    memory.served = to
    to.memories.set(key, memory)
  }
  from.memories.clear()
  forgetVersions(to)
}
