/** Options and object types of the methods of `Client`. Types only. */
import type { ObjectMeta } from '../kube/objects.ts'
import type { ObjectOf, OpenObject } from '../kube/resources/resources.ts'
import type { DeepReadonly, MergePatch, Mutable, Primitive } from '../util/json/deep-types.ts'

/** The options of all requests for one object. */
export interface CallOptions {
  /** The namespace of a namespaced resource. Default: that of the given object, otherwise that of the handled object. */
  readonly namespace?: string | undefined
  /** Aborts the request. Default: aborted when the operator ends. */
  readonly signal?: AbortSignal | undefined
}

/** The options of `client.get`. */
export interface GetOptions<S extends string | undefined = string | undefined> extends CallOptions {
  /**
   * A subresource, for example `'status'` or `'scale'`. Objects of subresources other than `status` are not typed. Default: the object
   * itself.
   */
  readonly subresource?: S
}

/** The options of `client.create` and `client.replace`. */
export interface WriteOptions<S extends string | undefined = string | undefined> extends GetOptions<S> {
  /** Whether the server only validates the request and stores nothing. Default: false. */
  readonly dryRun?: boolean | undefined
  /**
   * The field manager recorded for the written fields (`metadata.managedFields`). Default: for `apply`,
   * `settings.reconciling.fieldManager`; for other writes, the server derives it from the user agent.
   */
  readonly fieldManager?: string | undefined
  /**
   * How the server handles unknown and duplicate fields: `'Strict'` rejects the object, the other values drop the fields. Default:
   * `'Warn'`.
   */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
}

/** The types of patches. */
export type ClientPatchType = 'merge' | 'json' | 'strategic'

/** The options of `client.patch`. */
export interface PatchOptions<
  S extends string | undefined = string | undefined,
  Y extends ClientPatchType | undefined = ClientPatchType | undefined,
> extends WriteOptions<S> {
  /** The type of the patch. `'strategic'` works for built-in kinds only. Default: `'json'` for an array, otherwise `'merge'`. */
  readonly type?: Y
}

/** The options of `client.apply`. */
export interface ApplyOptions<S extends string | undefined = string | undefined> extends WriteOptions<S> {
  /** Whether fields of other managers are taken over instead of failing with a conflict. Default: false. */
  readonly force?: boolean | undefined
}

/** The options of `client.delete`. */
export interface DeleteOptions extends CallOptions {
  /** Whether the server only validates the request and deletes nothing. Default: false. */
  readonly dryRun?: boolean | undefined
  /**
   * When dependents are deleted: before the object (`'Foreground'`), after it (`'Background'`), or not at all (`'Orphan'`). Default: the
   * policy of the resource, usually `'Background'`.
   */
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined
  /** How long the object may take to terminate, in seconds. 0 deletes it immediately. Default: the grace period of the object. */
  readonly gracePeriodSeconds?: number | undefined
  /** The uid and version that the object must have; otherwise the request fails with a conflict. Default: any. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined
}

/** A label or field selector: as text, `'app=web,tier!=db'`, or as an object of exact values, `{ app: 'web' }`. */
export type SelectorText = string | Readonly<Record<string, string>>

/** The options of `client.list`. */
export interface SelectionOptions {
  /** The namespace of the objects; `null` for all namespaces. Default: the namespace of the handled object. */
  readonly namespace?: string | null | undefined
  /** Selects objects by labels. Default: all objects. */
  readonly labelSelector?: SelectorText | undefined
  /** Selects objects by fields, such as `{ 'metadata.name': 'web' }`. The server supports only some fields. Default: all objects. */
  readonly fieldSelector?: SelectorText | undefined
  /** Aborts the request. Default: aborted when the operator ends. */
  readonly signal?: AbortSignal | undefined
}

/** The options of `client.watch`. */
export interface WatchOptions extends SelectionOptions {
  /** The version after which changes are watched. Default: the watch begins with the existing objects, as `ADDED`. */
  readonly resourceVersion?: string | undefined
  /** The time in seconds after which the server ends the watch. Default: the server decides. */
  readonly timeoutSeconds?: number | undefined
  /** Whether the server sends `BOOKMARK` events, which have only a `resourceVersion`. Default: false. */
  readonly allowWatchBookmarks?: boolean | undefined
}

/** An event of `client.watch`. */
export interface ClientEvent<T> {
  /** The type of the event. `BOOKMARK` only with `allowWatchBookmarks`. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  /** The object after the change; for `DELETED`, its last state. */
  readonly object: T
}

/** An object to write. Its parts may be read-only, for example parts of a body; fields that the server sets may be omitted. */
export type ObjectInput<T> = { readonly [K in keyof T]?: DeepReadonly<T[K]> | undefined }

/** The type with every field optional at every depth, as for server-side apply. */
export type DeepPartial<T> = T extends Primitive
  ? T
  : T extends readonly (infer E)[]
    ? readonly DeepPartial<E>[]
    : T extends object
      ? DeepPartialObject<T>
      : T

type DeepPartialObject<T> = { readonly [K in keyof T]?: DeepPartial<T[K]> }

/** An object with `apiVersion` and `kind`, so that the resource need not be named. Optional here, as in many type libraries. */
export interface SelfDescribed {
  /** The group and version of the object: `apps/v1`. */
  readonly apiVersion?: string | undefined
  /** The kind of the object: `Deployment`. */
  readonly kind?: string | undefined
  /** The metadata of the object. */
  readonly metadata?: object | undefined
}

/** The fields of `SelfDescribed` that a type lacks, as required fields; empty if the type declares all three. */
export type Undescribed<T> = { readonly [K in Exclude<keyof SelfDescribed, keyof T>]: NonNullable<SelfDescribed[K]> }

/** Every stored object has a name, even if its type declares it optional. Reviews such as SubjectAccessReview are not stored. */
interface NamedObject {
  /** The metadata, with a name. */
  metadata: { name: string }
}

/** An object as returned by the server: a new, mutable value. */
export type StoredObject<T> = Mutable<T> & { metadata: ObjectMeta } & NamedObject

/** The type of the objects in a request: that of the resource, or untyped for a subresource (`S`) such as `scale`. */
export type RequestObject<R, S = undefined> = [S] extends ['status' | undefined] ? ObjectOf<R> : OpenObject

/** An object of a resource as returned by the server. */
export type StoredOf<R, S = undefined> = RequestObject<R, S> & NamedObject

/** One operation of a JSON patch (RFC 6902). `path` and `from` are JSON pointers: `/spec/replicas`. */
type ClientPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

/** A patch of the type `Y` for objects of the type `T`. Without a type, an array is a JSON patch and an object is a merge patch. */
export type PatchInput<T, Y = undefined> = Y extends 'json'
  ? readonly ClientPatchOperation[]
  : Y extends 'merge'
    ? MergePatch<T>
    : Y extends 'strategic'
      ? StrategicPatch<T>
      : MergePatch<T> | readonly ClientPatchOperation[]

/** A strategic merge patch: items of lists are merged by their keys, so that they may be incomplete. Directives begin with `$`. */
type StrategicPatch<T> = T extends Primitive
  ? T
  : T extends readonly (infer Item)[]
    ? readonly StrategicPatch<Item>[]
    : T extends object
      ? { readonly [K in keyof T]?: StrategicPatch<T[K]> | null } & { readonly [directive: `$${string}`]: unknown }
      : T
