/** What the API server serves, and how a user names it. Types of a resource flow from here to the handlers. */
import type { BuiltinNamespace } from './builtin-scopes.ts'
import { checkDefinition } from './definition-checks.ts'
import type { Everything } from './everything.ts'
import type { KubeObject, ObjectMeta } from './objects.ts'
import { pluralize } from './plurals.ts'
import type { OutputOf, StandardSchemaV1 } from './schemas.ts'
import { toSelector } from './selectors.ts'

export { EVERYTHING, type Everything } from './everything.ts'

/** One resource as discovery describes it. Its identity is group, version and plural. */
export interface Resource {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly singular: string
  readonly shortcuts: readonly string[]
  readonly categories: readonly string[]
  readonly subresources: readonly string[]
  readonly namespaced: boolean
  /** Whether this is the version the group prefers. */
  readonly preferred: boolean
  readonly verbs: readonly string[]
}

/** Keywords of a selector; exactly one of the names: kind, plural, singular, shortcut or category. */
export interface SelectorKeywords {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly plural?: string
  readonly singular?: string
  readonly shortcut?: string
  readonly category?: string
}

/** Everything that names resources without saying what their objects look like. */
export type SelectorNotation =
  | string
  | Everything
  | readonly (string | Everything)[]
  | SelectorKeywords
  | ((resource: Resource) => boolean)

/** Names a resource and carries the type of its objects. Made by `defineResource` and `resource`. */
export interface ResourceDefinition<T = KubeObject> {
  readonly selector: SelectorNotation
  /** Never there at run time: the type of the objects. */
  readonly '~object'?: T
}

/**
 * Everything a resource can be named by: a text such as `kopfexamples` or `databases.example.com`, a selector, a definition.
 */
export type ResourceLike = SelectorNotation | ResourceDefinition<never> | ResourceDefinition<object>

/** An object of which nothing is known beforehand: every field may be there, and be anything. */
export interface OpenObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  // biome-ignore lint/suspicious/noExplicitAny: as in Kopf, whoever names a resource by a string vouches for its fields.
  spec: Record<string, any>
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  status: Record<string, any>
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  [field: string]: any
}

/** Never there at run time: marks a type as that of Secrets. */
declare const secretMark: unique symbol
export type SecretMark = typeof secretMark

/** A Secret that was named by a text: open like any other object, but known to be one, so that its old values are typed as concealed. */
interface OpenSecret extends OpenObject {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  data?: any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  stringData?: any
  readonly [secretMark]?: true
}

type SecretName = 'secrets' | 'secret' | 'Secret'

/** The notations of Secrets whose types are literal. */
type SecretNotation =
  | SecretName
  | `${SecretName}.v1`
  | readonly [SecretName]
  | readonly ['v1' | '', SecretName]
  | readonly ['', 'v1', SecretName]
  | { readonly group?: ''; readonly version?: 'v1'; readonly plural: 'secrets' }
  | { readonly group?: ''; readonly version?: 'v1'; readonly kind: 'Secret' }
  | { readonly group?: ''; readonly version?: 'v1'; readonly singular: 'secret' }

/** The type of the objects of a resource, however it was named. */
export type ObjectOf<R> =
  R extends ResourceDefinition<infer T>
    ? unknown extends T
      ? OpenObject
      : T
    : R extends SecretNotation
      ? OpenSecret
      : OpenObject

type Scope = 'Namespaced' | 'Cluster'

/**
 * The type of the namespace of a resource's objects: `string` where it is namespaced, `undefined` where it is cluster-scoped, either where
 * its scope is not known. It is known of resources made by `defineResource`, and of Kubernetes' own ones: by types such
 * as those of `kubernetes-types`, or by names such as `pods` and `deployments.apps`.
 */
export type NamespaceOf<R> = R extends { readonly scope: infer S } ? NamespaceIn<S> : BuiltinNamespace<R, ObjectOf<R>>

type NamespaceIn<S> = S extends 'Namespaced' ? string : undefined

type AnySchema = StandardSchemaV1<unknown, unknown>

export interface ResourceOptions<
  S extends AnySchema | undefined = undefined,
  U extends AnySchema | undefined = undefined,
  C extends Scope = Scope,
> {
  /** A domain of yours: `example.com`. */
  readonly group: string
  /** `v1`, `v1beta1`, … */
  readonly version: string
  /** In CamelCase, one of them: `Database`. */
  readonly kind: string
  /** The kind in lower case and English plural unless told: `databases`. */
  readonly plural?: string
  /** The kind in lower case unless told: `database`. */
  readonly singular?: string
  /** What kubectl takes as well: `['db']`. */
  readonly shortNames?: readonly string[]
  /** Groups of resources for kubectl: `['all']`. */
  readonly categories?: readonly string[]
  /** `Namespaced` unless told. */
  readonly scope?: C
  /** Any Standard Schema; anything goes without one. */
  readonly spec?: S
  /** Any Standard Schema; with one, the status is a subresource. */
  readonly status?: U
}

/** The objects as the API server stores them: the output of the schemas, since it fills in the defaults. */
export interface DefinedObject<S, U> {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: S extends AnySchema ? OutputOf<S> : OpenObject['spec']
  status?: U extends AnySchema ? OutputOf<U> : OpenObject['status']
}

/** A resource of the user's own: with all that its definition in the cluster needs. */
export interface CustomResource<T = KubeObject, C extends Scope = Scope> extends ResourceDefinition<T> {
  readonly selector: Required<Pick<SelectorKeywords, 'group' | 'version' | 'plural'>>
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly scope: C
  readonly spec: AnySchema | undefined
  readonly status: AnySchema | undefined
}

/** A custom resource with the types of its schemas; `toCrd` makes its definition for the cluster. */
export function defineResource<
  const S extends AnySchema | undefined = undefined,
  const U extends AnySchema | undefined = undefined,
  const C extends Scope = 'Namespaced',
>(options: ResourceOptions<S, U, C>): CustomResource<DefinedObject<S, U>, C> {
  const { group, version, kind, shortNames = [], categories = [] } = options
  const scope = options.scope ?? ('Namespaced' as C)
  const singular = options.singular ?? String(kind).toLowerCase()
  const plural = options.plural ?? pluralize(String(kind).toLowerCase())
  const { spec, status } = options
  const names = { group, version, kind, plural, singular, shortNames, categories, scope }
  checkDefinition({ ...names, spec, status })
  return { selector: { group, version, plural }, ...names, spec, status }
}

/** A resource somebody else defined, with the type of its objects: `resource<Pod>('v1', 'pods')`. */
export function resource<T extends object = OpenObject>(notation: SelectorNotation): ResourceDefinition<T>
export function resource<T extends object = OpenObject>(api: string, name: string | Everything): ResourceDefinition<T>
export function resource<T extends object = OpenObject>(
  group: string,
  version: string,
  name: string | Everything,
): ResourceDefinition<T>
export function resource<T extends object>(
  notation: SelectorNotation,
  ...rest: ReadonlyArray<string | Everything>
): ResourceDefinition<T> {
  const selector = rest.length === 0 ? notation : [notation as string, ...rest]
  toSelector(selector)
  return { selector }
}
