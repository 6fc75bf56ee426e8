/** Resources of the API, the notations for them, and the types of their objects, from which the types of handler arguments follow. */

import { checkDefinition, versionOptionNames } from '../crds/resource-checks.ts'
import type { StandardSchemaV1 } from '../crds/standard-schema.ts'
import type { CrdVersionOptions } from '../crds/version-options.ts'
import type { KubeObject, ObjectMeta } from '../objects.ts'
import type { BuiltinNamespace } from './builtin-scopes.ts'
import type { Everything } from './selector-notations.ts'
import { toSelector } from './selectors.ts'

/** A resource as described by discovery: the `resource` argument of handlers. Group, version and plural identify it. */
export interface Resource {
  /** The API group: `apps`. Empty for the core group. */
  readonly group: string
  /** The version of the group: `v1`. */
  readonly version: string
  /** The plural name, as in URLs: `deployments`. */
  readonly plural: string
  /** The kind of the objects: `Deployment`. */
  readonly kind: string
  /** The singular name: `deployment`. */
  readonly singular: string
  /** The short names: `['deploy']`. */
  readonly shortcuts: readonly string[]
  /** The categories of the resource: `['all']`. */
  readonly categories: readonly string[]
  /** The subresources: `['scale', 'status']`. */
  readonly subresources: readonly string[]
  /** Whether the objects are in namespaces. False for a cluster-scoped resource. */
  readonly namespaced: boolean
  /** Whether `version` is the preferred version of the group. */
  readonly preferred: boolean
  /** The verbs that the API server supports for the resource: `['get', 'list', 'watch', …]`. */
  readonly verbs: readonly string[]
}

/** A notation for resources by keywords. Exactly one of `kind`, `plural`, `singular`, `shortcut` and `category` is required. */
export interface SelectorKeywords {
  /** The API group; empty for the core group. Default: any group. */
  readonly group?: string
  /** The version. Default: the preferred version of the group. */
  readonly version?: string
  /** The kind: `Deployment`. */
  readonly kind?: string
  /** The plural name: `deployments`. */
  readonly plural?: string
  /** The singular name: `deployment`. */
  readonly singular?: string
  /** A short name: `deploy`. */
  readonly shortcut?: string
  /** A category, which selects all its resources: `all`. */
  readonly category?: string
}

/** A notation for resources that does not carry the type of their objects. */
export type SelectorNotation =
  | string
  | Everything
  | readonly (string | Everything)[]
  | SelectorKeywords
  | ((resource: Resource) => boolean)

/** The key of the type of the objects. A symbol, so that editors do not offer it; does not exist at run time. */
declare const objectMark: unique symbol

/** A notation for a resource that carries the type of its objects. Created by `defineResource` and `resource`. */
export interface ResourceDefinition<T = KubeObject> {
  /** The notation of the resource without the type. */
  readonly selector: SelectorNotation
  /** The type of the objects; does not exist at run time. */
  readonly [objectMark]?: T
}

/**
 * Any notation for a resource: a string such as `'pods'` or `'databases.example.com'`, an array such as `['apps/v1', 'deployments']`,
 * keywords, `EVERYTHING`, a function, or the result of `defineResource` or `resource`.
 */
export type ResourceLike = SelectorNotation | ResourceDefinition<never> | ResourceDefinition<object>

/** The type of objects whose resource is named by a string: every field has the type `any`. */
export interface OpenObject {
  /** The group and version: `apps/v1`, or `v1` for the core group. */
  apiVersion: string
  /** The kind: `Deployment`. */
  kind: string
  /** The metadata: name, namespace, labels and so on. */
  metadata: ObjectMeta
  /** The desired state. Untyped. */
  // biome-ignore lint/suspicious/noExplicitAny: as in Kopf, resources named by a string have untyped fields.
  spec: Record<string, any>
  /** The observed state. Untyped. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  status: Record<string, any>
  /** All other fields, such as `data`. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  [field: string]: any
}

/** Marks a type as that of Secrets; does not exist at run time. */
declare const secretMark: unique symbol
export type SecretMark = typeof secretMark

/** A Secret named by a string: untyped, but known to be a Secret, so that its old values have the type of concealed values. */
interface OpenSecret extends OpenObject {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  data?: any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  stringData?: any
  readonly [secretMark]?: true
}

type SecretName = 'secrets' | 'secret' | 'Secret'

/** Notations of Secrets that the type system can recognise. */
type SecretNotation =
  | SecretName
  | `${SecretName}.v1`
  | readonly [SecretName]
  | readonly ['v1' | '', SecretName]
  | readonly ['', 'v1', SecretName]
  | { readonly group?: ''; readonly version?: 'v1'; readonly plural: 'secrets' }
  | { readonly group?: ''; readonly version?: 'v1'; readonly kind: 'Secret' }
  | { readonly group?: ''; readonly version?: 'v1'; readonly singular: 'secret' }

/** The type of the objects of a resource, for any notation: `OpenObject` if the notation carries no type. */
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
 * The type of `namespace` for a resource's objects: `string` for a namespaced resource, `undefined` for a cluster-scoped one, both if
 * the scope is unknown. The scope is known for resources of `defineResource` and for built-in resources, by types such as those of
 * `kubernetes-types` or by names such as `pods` and `deployments.apps`.
 */
export type NamespaceOf<R> = R extends { readonly scope: infer S } ? NamespaceIn<S> : BuiltinNamespace<R, ObjectOf<R>>

type NamespaceIn<S> = S extends 'Namespaced' ? string : undefined

type AnySchema = StandardSchemaV1<unknown, unknown>

/** The options of `defineResource`. */
export interface ResourceOptions<S = OpenObject['spec'], U = OpenObject['status'], C extends Scope = Scope>
  extends CrdVersionOptions<DefinedObject<S, U>> {
  /** The API group, a domain: `example.com`. */
  readonly group: string
  /** The version of the resource: `v1`, `v1beta1` and so on. */
  readonly version: string
  /** The kind of the objects, in CamelCase and in the singular: `Database`. */
  readonly kind: string
  /** The plural name. Default: the English plural of the kind in lower case: `databases`. */
  readonly plural?: string
  /** The singular name. Default: the kind in lower case: `database`. */
  readonly singular?: string
  /** The kind of lists of the objects. Default: the kind with `List`: `DatabaseList`. */
  readonly listKind?: string
  /** Short names for kubectl: `['db']`. Default: none. */
  readonly shortNames?: readonly string[]
  /** Categories for kubectl: `['all']`. Default: none. */
  readonly categories?: readonly string[]
  /** Whether the objects are in namespaces (`Namespaced`) or not (`Cluster`). Default: `Namespaced`. */
  readonly scope?: C
  /** The schema of `spec`: any Standard Schema, such as zod's. Default: any fields are allowed. */
  readonly spec?: StandardSchemaV1<unknown, S>
  /**
   * The schema of `status`: any Standard Schema. With a schema, the status is a subresource. Default: no subresource, any fields are
   * allowed.
   */
  readonly status?: StandardSchemaV1<unknown, U>
}

/** The type of the objects of a custom resource. `S` and `U` are the types of `spec` and `status`. */
export interface DefinedObject<S, U> {
  /** The group and version of the resource: `example.com/v1`. */
  apiVersion: string
  /** The kind of the resource: `Database`. */
  kind: string
  /** The metadata: name, namespace, labels and so on. */
  metadata: ObjectMeta
  /** The desired state, with the type of its schema. */
  spec: S
  /** The observed state, with the type of its schema. */
  status?: U
}

/** A custom resource defined with `defineResource`, with everything that its CRD needs. */
export interface CustomResource<T = KubeObject, C extends Scope = Scope>
  extends ResourceDefinition<T>,
    CrdVersionOptions {
  /** The notation of the resource: group, version and plural. */
  readonly selector: Required<Pick<SelectorKeywords, 'group' | 'version' | 'plural'>>
  /** The API group: `example.com`. */
  readonly group: string
  /** The version: `v1`. */
  readonly version: string
  /** The kind: `Database`. */
  readonly kind: string
  /** The plural name: `databases`. */
  readonly plural: string
  /** The singular name: `database`. */
  readonly singular: string
  /** The kind of lists. Undefined for the kind with `List`. */
  readonly listKind?: string
  /** Short names for kubectl: `['db']`. */
  readonly shortNames: readonly string[]
  /** Categories for kubectl: `['all']`. */
  readonly categories: readonly string[]
  /** Whether the objects are in namespaces (`Namespaced`) or not (`Cluster`). */
  readonly scope: C
  /** The schema of `spec`. Undefined if any fields are allowed. */
  readonly spec: AnySchema | undefined
  /** The schema of `status`. Undefined if the resource has no status subresource. */
  readonly status: AnySchema | undefined
}

/**
 * Defines a custom resource: handlers get its objects with the types of its schemas, and `toCrd` or `kopf crd` creates its CRD. Throws a
 * `KopfError` (`KOPF_RESOURCE`) for names and options that the API server would reject, and for paths that the schemas do not have.
 *
 * @example
 * ```ts
 * const Database = defineResource({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Database',
 *   spec: z.object({ size: z.string(), users: z.array(z.string()) }),
 * })
 *
 * kopf.on.create(Database, ({ spec, logger }) => logger.info(`${spec.size} requested`))
 * ```
 */
export function defineResource<S = OpenObject['spec'], U = OpenObject['status'], const C extends Scope = 'Namespaced'>(
  options: ResourceOptions<S, U, C>,
): CustomResource<DefinedObject<S, U>, C> {
  const { group, version, kind, shortNames = [], categories = [], listKind, spec, status } = options
  const scope = options.scope ?? ('Namespaced' as C)
  const singular = options.singular ?? String(kind).toLowerCase()
  const plural = options.plural ?? pluralize(String(kind).toLowerCase())
  const names = { group, version, kind, plural, singular, shortNames, categories, scope }
  const crdOptions: CrdVersionOptions = Object.fromEntries(
    versionOptionNames.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  )
  const definition = { ...names, ...(listKind === undefined ? {} : { listKind }), spec, status, ...crdOptions }
  checkDefinition(definition, options)
  return { selector: { group, version, plural }, ...definition }
}

/**
 * Names an existing resource and gives its objects a type. Use `defineResource` for resources of your own.
 *
 * @example
 * ```ts
 * import type { Pod } from 'kubernetes-types/core/v1'
 *
 * kopf.on.event(resource<Pod>('v1', 'pods'), ({ body }) => {})
 * ```
 */
export function resource<T extends object = OpenObject>(notation: SelectorNotation): ResourceDefinition<T>
/** Names a resource by its group and version (`apps/v1`), or by one of them, and its name. */
export function resource<T extends object = OpenObject>(api: string, name: string | Everything): ResourceDefinition<T>
/** Names a resource by its group, version and name. */
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

/** The regular English plural of a lower-case word, as for built-in resources: policies, ingresses, gateways. */
export function pluralize(word: string): string {
  if (/(?:s|x|z|ch|sh)$/.test(word)) return `${word}es`
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return `${word}s`
}
