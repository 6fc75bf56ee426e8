/**
 * Finds the types of built-in kinds by the notations of their resources: `'pods'`, `'deployments.apps'`, `['apps/v1', 'deployments']`.
 * Types only. The compiler loads the type of a kind when a notation names it.
 */
import type { BuiltinObjects, BuiltinPlurals, BuiltinScopes } from '../builtins/builtin-names.generated.ts'

/** The type of the objects of a notation; `never` if the notation does not name a built-in kind with literal names. */
export type BuiltinObject<R> = ObjectByName<DottedName<R>>

/**
 * Inferred, and not accessed as `BuiltinObjects[Name]`: while the name is a type parameter, the compiler would compute with the union of all
 * kinds, which takes half a second.
 */
type ObjectByName<Name> = Name extends string
  ? BuiltinObjects extends { readonly [K in Name]: infer T }
    ? T
    : ObjectByKind<Name>
  : never

/** Replaces a kind or a singular by the plural: `Pod.v1` -> `pods.v1`. */
type ObjectByKind<Name> = Name extends keyof BuiltinPlurals
  ? PluralObject<BuiltinPlurals[Name]>
  : Name extends `${infer Kind extends keyof BuiltinPlurals}.${infer Rest}`
    ? PluralObject<`${BuiltinPlurals[Kind]}.${Rest}`>
    : never

type PluralObject<Name extends string> = BuiltinObjects extends { readonly [K in Name]: infer T } ? T : never

/** A notation as text: `pods`, `pods.v1`, `deployments.apps`, `deployments.v1.apps`. */
type DottedName<R> = R extends string
  ? R
  : R extends readonly [infer Name extends string]
    ? Name
    : R extends readonly [infer Api extends string, infer Name extends string]
      ? Qualified<
          Name,
          Api extends `${string}/${infer V}` ? V : undefined,
          Api extends `${infer G}/${string}` ? G : Api
        >
      : R extends readonly [infer Group extends string, infer Version extends string, infer Name extends string]
        ? Qualified<Name, Version, Group>
        : R extends SelectorNames<infer Name extends string>
          ? Qualified<Name, KeywordOf<R, 'version'>, KeywordOf<R, 'group'>>
          : never

/** Keywords with exactly one name. */
type SelectorNames<Name> =
  | { readonly plural: Name; readonly category?: undefined }
  | { readonly kind: Name; readonly category?: undefined }
  | { readonly singular: Name; readonly category?: undefined }

type KeywordOf<R, K extends string> = R extends { readonly [P in K]: infer V } ? V : undefined

/** `v1` is the only version of the core group, whose name is empty; alone, it stands for the group too. */
type Qualified<Name extends string, Version, Group> = Group extends '' | 'v1'
  ? `${Name}.v1`
  : `${Name}${Suffix<Version>}${Suffix<Group>}`

type Suffix<Part> = Part extends string ? `.${Part}` : ''

/**
 * The type of `metadata.namespace` for an object type: `string` for namespaced built-in kinds and for types whose namespace is required,
 * `undefined` for cluster-scoped built-in kinds, both for unknown kinds.
 */
export type BuiltinNamespace<T> = T extends { readonly metadata: { readonly namespace: string } }
  ? string
  : ScopeOf<KindOf<T>> extends 'Namespaced'
    ? string
    : ScopeOf<KindOf<T>> extends 'Cluster'
      ? undefined
      : string | undefined

type ScopeOf<Kind> = Kind extends keyof BuiltinScopes ? BuiltinScopes[Kind] : unknown

/** `Pod`, `Deployment.apps`: from types with literal `apiVersion` and `kind`, such as those of `kopf/kubernetes`. */
type KindOf<T> = T extends { readonly apiVersion?: infer Api; readonly kind?: infer Kind }
  ? NonNullable<Api> extends 'v1'
    ? NonNullable<Kind>
    : NonNullable<Api> extends `${infer Group}/${string}`
      ? `${NonNullable<Kind> & string}.${Group}`
      : undefined
  : undefined
