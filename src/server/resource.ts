/**
 * What the server knows of one resource that it serves: its names, how its objects are read, checked and shown.
 * Built-in kinds (builtins/) and CRDs (crds/) make these; the verbs work on them without knowing which it is.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { FieldError } from './field-errors.ts'

/** One column of a Table: `kubectl get` shows those of priority 0, `-o wide` all. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  /** The cell of an object; `now` for columns that show an age. */
  cell(object: KubeObject, now: Date): string | number | boolean | null
}

/** What a subresource changes of the object it belongs to. */
export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly verbs: readonly string[]
}

export interface Decoded {
  readonly object: KubeObject
  /** Unknown fields in the words of the real server: `unknown field "spec.colour"`. */
  readonly problems: readonly string[]
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** The rules of a kind. All are pure; those that prepare an object change the one they are given. */
export interface Strategy {
  /**
   * A body as a client sent it: fields the kind does not have are dropped and named, wrong types refused with a StatusError,
   * defaults filled in. Must not keep or change `body`.
   */
  decode(body: KubeObject): Decoded
  /** Defaults and pruning for what comes from the store: schemas may have changed since it was written. */
  fromStorage?(object: KubeObject): KubeObject
  /** Names are checked by this before anything else: the reasons why it cannot be one. */
  nameProblems(name: string, isPrefix: boolean): readonly string[]
  /** Fields a client cannot set on creation: mostly the status. */
  prepareForCreate(object: KubeObject): void
  /** Fields a client cannot change by an update of the object: the status stays as it was; `generation` goes up with the spec. */
  prepareForUpdate(object: KubeObject, old: KubeObject): void
  /** The same for an update of `/status`: everything but the status (and what Kubernetes lets through) stays as it was. */
  prepareForStatusUpdate(object: KubeObject, old: KubeObject): void
  /** Errors beyond those of metadata, which is the same for all kinds. */
  validate(object: KubeObject): readonly FieldError[]
  validateUpdate(object: KubeObject, old: KubeObject): readonly FieldError[]
  validateStatusUpdate(object: KubeObject, old: KubeObject): readonly FieldError[]
  /** Fields that can be selected by, beside `metadata.name` and `metadata.namespace`. */
  selectableFields?(object: KubeObject): Readonly<Record<string, string>>
  readonly selectableFieldNames?: readonly string[]
  /** Pods are deleted gracefully: 30 s unless told otherwise. Undefined for kinds that go at once. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number
}

/** One resource in one version, as discovery shows it. */
export interface ServedResource {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  readonly scale?: ScalePaths
  /** The collection its objects are kept in. Two resources with one collection show the same objects. */
  readonly collection: string
  /** To and from the form in which the collection keeps them; absent where it is the same. */
  readonly conversion?: { toStorage(object: KubeObject): KubeObject; fromStorage(object: KubeObject): KubeObject }
  readonly strategy: Strategy
  readonly columns: readonly Column[]
  /** Shown as a `Warning` header on every request: a deprecated version. */
  readonly warning?: string
  /** For OpenAPI documents; absent where the kind has none. */
  readonly openapi?: JsonObject
}
