/** `buildObject`: an object of a known resource, with `apiVersion` and `kind` filled in. Used by reconcilers and for `client.apply`. */
import { KopfError } from '../errors.ts'
import type { Primitive } from '../util/json/deep-types.ts'
import { formatGroupVersion } from './objects.ts'
import type { ObjectOf, ResourceDefinition } from './resources/resources.ts'

/** A resource whose group, version and kind are known: one of `kopf/kubernetes` or of `defineResource`. */
export interface KnownResource extends ResourceDefinition<object> {
  /** The API group. Empty for the core group. */
  readonly group: string
  /** The version of the group. */
  readonly version: string
  /** The kind of the objects. */
  readonly kind: string
}

/**
 * An object that should exist. Parts of a body, which are read-only, are accepted. Error messages show this name with the name of the type,
 * `Desired<PodSpec>`, where `DeepReadonly` would show all fields.
 */
export type Desired<T> = { readonly [K in keyof T]: DesiredField<T[K]> }

type DesiredField<V> = V extends Primitive
  ? V
  : V extends readonly (infer Item)[]
    ? number extends V['length']
      ? readonly DesiredField<Item>[]
      : { readonly [K in keyof V]: DesiredField<V[K]> }
    : V extends object
      ? Desired<V>
      : V

/** The fields of an object without `apiVersion` and `kind`. */
export type ObjectToBuild<T> = Desired<Omit<T, 'apiVersion' | 'kind'>>

/**
 * Builds an object of a resource: fills in `apiVersion` and `kind`, and checks the fields against the type of the resource. The resource is
 * one of `kopf/kubernetes` or of `defineResource`.
 *
 * @example
 * ```ts
 * kopf.reconcile(Database, { owns: [ConfigMap] }, ({ name, spec }) => ({
 *   children: [buildObject(ConfigMap, { metadata: { name }, data: { size: String(spec.size) } })],
 * }))
 * ```
 */
export function buildObject<const R extends KnownResource>(
  resource: R,
  fields: ObjectToBuild<ObjectOf<R>>,
): ObjectOf<R> {
  const { group, version, kind } = resource
  if (typeof group !== 'string' || typeof version !== 'string' || typeof kind !== 'string') {
    throw new KopfError(
      'KOPF_OBJECT',
      'Cannot build an object of a resource whose group, version and kind are unknown: use a resource of "kopf/kubernetes" or of defineResource',
    )
  }
  return { apiVersion: formatGroupVersion(group, version), kind, ...(fields as object) } as unknown as ObjectOf<R>
}
