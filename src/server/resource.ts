/**
 * What the server knows of one resource that it serves: its names, how its objects are read, checked and shown.
 * Built-in kinds (builtins/) and CRDs (crds/) make these; the verbs work on them without knowing which it is.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { FieldError } from './field-errors.ts'
import type { User } from './identity/authentication.ts'
import type { Ownership } from './ownership/track.ts'
import type { Stored } from './storage/stored.ts'

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
  /** Defaults for what a webhook has changed, with nothing dropped. Where it is absent, `decode` reads such objects. */
  fillDefaults?(object: KubeObject): void
  /** Names are checked by this before anything else: the reasons why it cannot be one. */
  nameProblems(name: string, isPrefix: boolean): readonly string[]
  /** Fields a client cannot set on creation: mostly the status. */
  prepareForCreate(object: KubeObject): void
  /**
   * A strategic merge patch, for kinds whose types say how to merge: the object as the patch would have it, and fields of it
   * that the kind does not know. Changes the patch, as messages show it. Throws a StatusError where it does not apply.
   */
  mergeStrategically?(current: object, patch: JsonObject): Merged
  /** The same for the kind's Scale. */
  mergeScaleStrategically?(scale: object, patch: JsonObject): Merged
  /** Fields a client cannot change by an update of the object: the status stays as it was; `generation` goes up with the spec. */
  prepareForUpdate(object: KubeObject, old: KubeObject): void
  /** The same for an update of `/status`: everything but the status (and what Kubernetes lets through) stays as it was. */
  prepareForStatusUpdate(object: KubeObject, old: KubeObject): void
  /** The same for `/finalize`, which only namespaces have: `spec.finalizers` alone changes. */
  prepareForFinalize?(object: KubeObject, old: KubeObject): void
  /** Errors beyond those of metadata, which is the same for all kinds. */
  validate(object: KubeObject): readonly FieldError[]
  /** What is wrong, but was so before, is told in `warnings` where the kind forgives it. */
  validateUpdate(object: KubeObject, old: KubeObject, warnings?: string[]): readonly FieldError[]
  validateStatusUpdate(object: KubeObject, old: KubeObject, warnings?: string[]): readonly FieldError[]
  /** What is accepted, but its author should know; of an update only what is new. */
  warnings?(object: KubeObject, old?: KubeObject): readonly string[]
  /** A PUT to a name that is not there creates the object: so with leases, roles, events and a few more. */
  readonly allowsCreateOnUpdate?: boolean
  /** A PUT without a resourceVersion overwrites whatever is there. Custom resources must name one. */
  readonly allowsUnconditionalUpdate?: boolean
  /** Fields that can be selected by, beside `metadata.name` and `metadata.namespace`. */
  selectableFields?(object: KubeObject): Readonly<Record<string, string>>
  readonly selectableFieldNames?: readonly string[]
  /** What becomes of dependents where the deletion does not say: kept with jobs, not looked at with events, else deleted. */
  readonly defaultPropagation?: 'Orphan' | 'None'
  /** Deletion is answered with the object itself instead of a Status: pods, services, volumes and a few more. */
  readonly returnsDeletedObject?: boolean
  /** Namespaces and CRDs stay, marked, until a controller has emptied them: what the mark adds beside the timestamp. */
  markDeleting?(object: KubeObject, now: string): void
  /** Whether something beside `metadata.finalizers` keeps a marked object: `spec.finalizers` of namespaces. */
  isHeld?(object: KubeObject): boolean
  /** Pods are deleted gracefully: 30 s unless told otherwise. Undefined for kinds that go at once. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number
}

/**
 * To and from one version where a webhook converts. What is asked for once is kept as long as what it was made of, so that
 * nobody has to wait who comes later, and nothing that is not asked for is converted.
 */
export interface Converter {
  /** Resolves when all of them can be shown; undefined where nothing is to be waited for. Rejects with a StatusError. */
  prepare(states: readonly Stored[]): Promise<void> | undefined
  /** A state in this version; one that was prepared, or needs no webhook. */
  show(stored: Stored): Stored
  /** An object of whatever version in another, with whatever the webhook gave it. */
  convert(object: KubeObject, apiVersion: string): Promise<KubeObject>
  /** An object of this version in the one that is stored, with what that one knows of; itself where that is the same. */
  toStorage(object: KubeObject): Promise<KubeObject>
}

/** Whose the fields of an object are. */
export interface OwnedFields {
  /** For requests to the resource itself, '', or to one of its subresources. */
  ownership(subresource: string): Ownership
  /** An object with nothing in it, as the real server begins with when one is created. Nobody changes it. */
  readonly blank: KubeObject
}

export interface Merged {
  readonly object: JsonObject
  readonly problems: readonly string[]
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
  /** For all versions of a CRD with a conversion webhook, even the one that is stored: what is older may be of another. */
  readonly converter?: Converter
  readonly strategy: Strategy
  /** Absent for kinds of which nothing is kept. */
  readonly fields?: OwnedFields
  readonly columns: readonly Column[]
  /** Made from a CRD. */
  readonly isCustom?: boolean
  /** Its CRD is being deleted: nothing new is created. */
  readonly isTerminating?: boolean
  /** For kinds that are questions, not objects: the answer to a POST. Nothing is kept of it. */
  evaluate?(question: KubeObject, asker: User): KubeObject
  /** Built-in kinds do not repeat `apiVersion` and `kind` on the items of a list. */
  readonly omitsTypeInLists?: boolean
  /** Shown as a `Warning` header on every request: a deprecated version. */
  readonly warning?: string
  /** For OpenAPI documents; absent where the kind has none. */
  readonly openapi?: JsonObject
}
