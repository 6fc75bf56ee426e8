/**
 * The definition of a served resource: its names, and the strategy to decode, validate and show its objects. builtins/ and crds/
 * create these; the verbs use them without knowing the difference.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { FieldError } from './field-errors.ts'
import type { User } from './identity/authentication.ts'
import type { Ownership } from './ownership/track.ts'
import type { Stored } from './storage/stored.ts'

/** A column of a Table: `kubectl get` shows priority 0, `-o wide` all. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  /** The cell of an object; `now` is for columns with an age. */
  cell(object: KubeObject, now: Date): string | number | boolean | null
}

/** A subresource and the kind that it accepts and returns. */
export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly verbs: readonly string[]
}

export interface Decoded {
  readonly object: KubeObject
  /** Unknown fields in kube-apiserver's words: `unknown field "spec.colour"`. */
  readonly problems: readonly string[]
}

export interface ScalePaths {
  readonly specReplicasPath: string
  readonly statusReplicasPath: string
  readonly labelSelectorPath?: string
}

/** The rules of a kind. Functions without a result modify their object; all other functions are pure. */
export interface Strategy {
  /**
   * Decodes a client's body: drops and reports unknown fields, rejects wrong types with a StatusError, sets defaults. Must not keep or
   * modify `body`.
   */
  decode(body: KubeObject): Decoded
  /** Sets defaults and prunes a stored object, since the schema may have changed after it was written. */
  fromStorage?(object: KubeObject): KubeObject
  /** Sets defaults on an object that a webhook has changed, without dropping anything. If absent, `decode` is used. */
  fillDefaults?(object: KubeObject): void
  /** Validates a name; called before all other checks. */
  nameProblems(name: string, isPrefix: boolean): readonly string[]
  /** Resets fields that a client cannot set on creation: usually the status. */
  prepareForCreate(object: KubeObject): void
  /**
   * Applies a strategic merge patch, for kinds whose types define one. Returns the patched object and its unknown fields. Modifies the
   * patch, as shown in messages. Throws a StatusError if the patch does not apply.
   */
  mergeStrategically?(current: object, patch: JsonObject): Merged
  /** Applies a strategic merge patch to the kind's Scale. */
  mergeScaleStrategically?(scale: object, patch: JsonObject): Merged
  /** Resets fields that an update of the object cannot change: restores the status, and increments `generation` if the spec changes. */
  prepareForUpdate(object: KubeObject, old: KubeObject): void
  /** Resets fields that an update of `/status` cannot change: everything but the status and a few other fields. */
  prepareForStatusUpdate(object: KubeObject, old: KubeObject): void
  /** Resets fields that an update of `/finalize` cannot change: everything but `spec.finalizers`. Namespaces only. */
  prepareForFinalize?(object: KubeObject, old: KubeObject): void
  /** Returns errors except those of the metadata, which are the same for all kinds. */
  validate(object: KubeObject): readonly FieldError[]
  /** Errors that the old object already had may be added to `warnings` instead (ratcheting). */
  validateUpdate(object: KubeObject, old: KubeObject, warnings?: string[]): readonly FieldError[]
  validateStatusUpdate(object: KubeObject, old: KubeObject, warnings?: string[]): readonly FieldError[]
  /** Warnings for accepted objects; for an update, only about changes. */
  warnings?(object: KubeObject, old?: KubeObject): readonly string[]
  /** A PUT creates a missing object: leases, roles, events and a few more. */
  readonly allowsCreateOnUpdate?: boolean
  /** A PUT without a resourceVersion overwrites any state. Custom resources require one. */
  readonly allowsUnconditionalUpdate?: boolean
  /** Fields for field selectors, in addition to `metadata.name` and `metadata.namespace`. */
  selectableFields?(object: KubeObject): Readonly<Record<string, string>>
  readonly selectableFieldNames?: readonly string[]
  /** The default propagation policy: `Orphan` for jobs, `None` (dependents are ignored) for events, background deletion otherwise. */
  readonly defaultPropagation?: 'Orphan' | 'None'
  /** DELETE responds with the object instead of a Status: pods, services, volumes and a few more. */
  readonly returnsDeletedObject?: boolean
  /** Namespaces and CRDs stay with a deletionTimestamp until a controller has emptied them: sets the other fields of that state. */
  markDeleting?(object: KubeObject, now: string): void
  /** True if an object being deleted is held by something else than `metadata.finalizers`: `spec.finalizers` of namespaces. */
  isHeld?(object: KubeObject): boolean
  /** The grace period of a deletion: 30 s for pods by default. Undefined for kinds without graceful deletion. */
  gracePeriodSeconds?(object: KubeObject, requested: number | undefined): number
}

/**
 * Converts from and to one version by a conversion webhook. A converted state is cached as long as its source, and only requested
 * states are converted.
 */
export interface WebhookConverter {
  /** Resolves when all states can be read with `show`; undefined if they can already. Rejects with a StatusError. */
  prepare(states: readonly Stored[]): Promise<void> | undefined
  /** The state in this version. It must have been prepared, or need no webhook. */
  show(stored: Stored): Stored
  /** Converts an object of any version to another, with everything that the webhook returns. */
  convert(object: KubeObject, apiVersion: string): Promise<KubeObject>
  /** Converts an object of this version to the storage version and prunes it; returns the object itself if the versions are equal. */
  toStorage(object: KubeObject): Promise<KubeObject>
}

/** The managed fields of a kind. */
export interface FieldManagement {
  /** For requests to the resource itself ('') or to one of its subresources. */
  ownership(subresource: string): Ownership
  /** The empty object from which kube-apiserver computes the managed fields of a creation. Never modified. */
  readonly blank: KubeObject
}

export interface Merged {
  readonly object: JsonObject
  readonly problems: readonly string[]
}

/** One resource in one version, as in discovery. */
export interface ApiResource {
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
  /** The collection with its objects. Two resources with one collection show the same objects. */
  readonly collection: string
  /** Converts to and from the stored form; absent if both are the same. */
  readonly conversion?: { toStorage(object: KubeObject): KubeObject; fromStorage(object: KubeObject): KubeObject }
  /** Set for all versions of a CRD with a conversion webhook, even the storage version: older objects may be stored in another version. */
  readonly converter?: WebhookConverter
  readonly strategy: Strategy
  /** Absent for kinds that are not stored. */
  readonly fields?: FieldManagement
  readonly columns: readonly Column[]
  /** True for resources of CRDs. */
  readonly isCustom?: boolean
  /** True while the CRD is being deleted: creation is refused. */
  readonly isTerminating?: boolean
  /** For review kinds: computes the response to a POST. Nothing is stored. */
  evaluate?(question: KubeObject, asker: User): KubeObject
  /** True for built-in kinds: items of a list omit apiVersion and kind. */
  readonly omitsTypeInLists?: boolean
  /** Sent as a `Warning` header with every response: a deprecated version. */
  readonly warning?: string
  /** The schema for OpenAPI documents; absent if the kind has none. */
  readonly openapi?: JsonObject
}
