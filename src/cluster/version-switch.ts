/**
 * Moves the objects of a served resource to another version of the resource, or to other handlers. Their state is kept, so that
 * handlers in progress are not started a second time. Used by orchestrator.ts.
 */
import type { Registry } from '../handlers/registry.ts'
import type { Resource } from '../kube/resources/resources.ts'
import type { Context } from '../objects/context.ts'
import { allHandlers, hasOnlyIndexHandlers, type ServedResource } from '../objects/state/served-resource.ts'
import { forgetVersions } from '../objects/state/version-rollback.ts'

/**
 * Whether both are the same kind of objects. Kind and scope of a CRD are immutable: if they differ, the CRD was deleted and
 * created again, and so were all objects.
 */
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

/**
 * Whether the state of objects can be kept. The state of objects that are only indexed is too small for handlers, and vice versa.
 */
export function canTakeOverFrom(registry: Registry, from: ServedResource, resource: Resource): boolean {
  return (
    isSameKind(from.resource, resource) && from.isOnlyIndexed === hasOnlyIndexHandlers(registry.handlersFor(resource))
  )
}

/**
 * Moves the objects. Their known states have the old API version, so the next list is processed even where the resource versions
 * are the same.
 */
export function switchVersion(context: Context, from: ServedResource, to: ServedResource): void {
  for (const [key, watched] of from.objects) {
    context.features.forgotten(watched)
    watched.served = to
    to.objects.set(key, watched)
  }
  from.objects.clear()
  forgetVersions(to, context.features)
}
