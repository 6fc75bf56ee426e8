/** The definitions of built-in kinds. The generated modules of this folder call `defineBuiltin`, one call per kind. */
import type { ResourceDefinition } from '../resources/resources.ts'

/** A built-in kind as a resource, from `kopf/kubernetes`: `T` is the type of its objects, `C` its scope. */
export interface BuiltinResource<T, C extends 'Namespaced' | 'Cluster' = 'Namespaced' | 'Cluster'>
  extends ResourceDefinition<T> {
  /** The notation of the resource: group, version and plural. */
  readonly selector: { readonly group: string; readonly version: string; readonly plural: string }
  /** The API group: `apps`. Empty for the core group. */
  readonly group: string
  /** The version: `v1`. */
  readonly version: string
  /** The kind: `Deployment`. */
  readonly kind: string
  /** The plural name: `deployments`. */
  readonly plural: string
  /** Whether the objects are in namespaces (`Namespaced`) or not (`Cluster`). */
  readonly scope: C
}

type ScopeName = BuiltinResource<unknown>['scope']

export function defineBuiltin<C extends ScopeName>(
  group: string,
  version: string,
  kind: string,
  plural: string,
  scope: C,
): BuiltinResource<never, C> {
  return { selector: { group, version, plural }, group, version, kind, plural, scope }
}
