/**
 * When the objects of a resource are served in another version of it from now on, or with other handlers: what is remembered of
 * them passes on, so that what is under way for them is not begun a second time.
 */
import type { Registry } from '../handlers/registry.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Context } from '../objects/context.ts'
import { allHandlers, hasOnlyIndexHandlers, type ServedResource } from '../objects/state/served-resource.ts'
import { forgetVersions } from '../objects/state/version-rollback.ts'

/** Kind and scope cannot change for as long as a definition is there: if they have, it is another one, and so are all objects. */
export function isSameKind(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural && a.kind === b.kind && a.namespaced === b.namespaced
}

export function isOtherVersion(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural && a.version !== b.version
}

export function hasSameHandlers(registry: Registry, { handlers }: ServedResource, resource: Resource): boolean {
  const [before, after] = [allHandlers(handlers), allHandlers(registry.handlersFor(resource))]
  return before.length === after.length && before.every((handler, position) => handler === after[position])
}

/** Of objects that are only indexed too little is remembered to go on with. */
export function canTakeOverFrom(registry: Registry, from: ServedResource, resource: Resource): boolean {
  return (
    isSameKind(from.resource, resource) && from.isOnlyIndexed === hasOnlyIndexHandlers(registry.handlersFor(resource))
  )
}

/** The states that we know are in the old version: all are taken in anew. */
export function switchVersion(context: Context, from: ServedResource, to: ServedResource): void {
  for (const [key, watched] of from.objects) {
    context.features.forgotten(watched)
    watched.served = to
    to.objects.set(key, watched)
  }
  from.objects.clear()
  forgetVersions(to, context.features)
}
