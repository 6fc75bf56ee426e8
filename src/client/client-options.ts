/** Options and object types of the methods of `Client`. Types only. */
import type { ObjectMeta } from '../kube/objects.ts'
import type { ObjectOf } from '../kube/resources/resources.ts'
import type { DeepReadonly, Mutable, Primitive } from '../util/json/deep-types.ts'

export interface CallOptions {
  /** The namespace of a namespaced resource. Default: that of the given object, otherwise that of the handled object. */
  readonly namespace?: string | undefined
  /** Aborts the request. Default: aborted when the operator ends. */
  readonly signal?: AbortSignal | undefined
}

export interface GetOptions extends CallOptions {
  /** A subresource, for example `'status'` or `'scale'`. Default: the object itself. */
  readonly subresource?: string | undefined
}

export interface WriteOptions extends GetOptions {
  /** The server validates and responds but stores nothing. Default: false. */
  readonly dryRun?: boolean | undefined
  /** The manager recorded for the written fields (`metadata.managedFields`). */
  readonly fieldManager?: string | undefined
  /** How the server handles unknown and duplicate fields: `'Strict'` rejects the object, the others drop the fields. Default: `'Warn'`. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
}

export interface PatchOptions extends WriteOptions {
  /** Default: `'json'` for an array, otherwise `'merge'`. `'strategic'` works for built-in kinds only. */
  readonly type?: 'merge' | 'json' | 'strategic' | undefined
}

export interface ApplyOptions extends WriteOptions {
  /** Takes over fields of other managers instead of failing with a conflict. Default: false. */
  readonly force?: boolean | undefined
}

export interface DeleteOptions extends CallOptions {
  /** The server validates and responds but deletes nothing. Default: false. */
  readonly dryRun?: boolean | undefined
  /** When dependents are deleted. Default: that of the resource, usually `'Background'`. */
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined
  readonly gracePeriodSeconds?: number | undefined
  /** Deletes only an object with this uid and version; otherwise the request fails with a conflict. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined
}

/** A selector as text, `'app=web,tier!=db'`, or as an object of values to be equal: `{ app: 'web' }`. */
export type SelectorText = string | Readonly<Record<string, string>>

export interface SelectionOptions {
  /** `null` for all namespaces. Default: the namespace of the handled object. */
  readonly namespace?: string | null | undefined
  readonly labelSelector?: SelectorText | undefined
  readonly fieldSelector?: SelectorText | undefined
  readonly signal?: AbortSignal | undefined
}

export interface WatchOptions extends SelectionOptions {
  /** Watch changes after this version. Default: existing objects come first, as `ADDED`. */
  readonly resourceVersion?: string | undefined
  /** Seconds after which the server ends the watch. Default: the server's own limit. */
  readonly timeoutSeconds?: number | undefined
  readonly allowWatchBookmarks?: boolean | undefined
}

export interface ClientEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
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
      ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
      : T

/** An object with `apiVersion` and `kind`, so that the resource need not be named. Optional here, as in many type libraries. */
export interface SelfDescribed {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: object | undefined
}

/** The fields of `SelfDescribed` that a type lacks, as required fields; empty if the type declares all three. */
export type Undescribed<T> = { readonly [K in Exclude<keyof SelfDescribed, keyof T>]: NonNullable<SelfDescribed[K]> }

/** Every stored object has a name, even if its type declares it optional. Reviews such as SubjectAccessReview are not stored. */
interface NamedObject {
  metadata: { name: string }
}

/** An object as returned by the server: a new, mutable value. */
export type StoredObject<T> = Mutable<T> & { metadata: ObjectMeta } & NamedObject

/** An object of a resource as returned by the server. */
export type StoredOf<R> = ObjectOf<R> & NamedObject
