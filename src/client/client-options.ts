/** What the methods of `Client` take beside the resource. Types only. */
import type { ObjectMeta } from '../kube/objects.ts'
import type { ObjectOf } from '../kube/resources.ts'
import type { DeepReadonly, Mutable, Primitive } from '../util/deep-types.ts'

export interface CallOptions {
  /** Of a namespaced resource; that of the handled object by default. */
  readonly namespace?: string | undefined
  /** Breaks off the request. */
  readonly signal?: AbortSignal | undefined
}

export interface GetOptions extends CallOptions {
  /** `'status'` or `'scale'`, for example. */
  readonly subresource?: string | undefined
}

export interface WriteOptions extends GetOptions {
  /** The server does all but store the outcome. */
  readonly dryRun?: boolean | undefined
  /** Who is recorded as the owner of the fields. */
  readonly fieldManager?: string | undefined
  /** What the server does about unknown and duplicate fields: refuse the object (`'Strict'`), or drop them. `'Warn'` by default. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined
}

export interface PatchOptions extends WriteOptions {
  /** `'merge'` by default; `'json'` for an array of operations; `'strategic'` only for the server's own kinds. */
  readonly type?: 'merge' | 'json' | 'strategic' | undefined
}

export interface ApplyOptions extends WriteOptions {
  /** Takes over fields that others own, instead of a conflict. */
  readonly force?: boolean | undefined
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined
  readonly gracePeriodSeconds?: number | undefined
  /** Deletes only what is still this very object, in this very version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined
}

/** `'app=web,tier!=db'`, or `{ app: 'web' }` where equality is enough. */
export type SelectorText = string | Readonly<Record<string, string>>

export interface SelectionOptions {
  /** That of the handled object by default; `null` for all namespaces. */
  readonly namespace?: string | null | undefined
  readonly labelSelector?: SelectorText | undefined
  readonly fieldSelector?: SelectorText | undefined
  readonly signal?: AbortSignal | undefined
}

export interface WatchOptions extends SelectionOptions {
  /** What came after this version; without one, first all that is there. */
  readonly resourceVersion?: string | undefined
  /** The server ends the watch after so many seconds. */
  readonly timeoutSeconds?: number | undefined
  readonly allowWatchBookmarks?: boolean | undefined
}

export interface ClientEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: T
}

/** An object to be written. Any of it may be read-only, such as parts of a body; the stanzas that the server fills may be left out. */
export type ObjectInput<T> = { readonly [K in keyof T]?: DeepReadonly<T[K]> | undefined }

/** Every field at every depth may be left out: what is applied is what one has an opinion on. */
export type DeepPartial<T> = T extends Primitive
  ? T
  : T extends readonly (infer E)[]
    ? readonly DeepPartial<E>[]
    : T extends object
      ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
      : T

/** An object that says itself what it is, so that the resource need not be named. Many types have these fields as optional ones. */
export interface SelfDescribed {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: object | undefined
}

/** What a type must have in addition to say what its objects are; nothing where it has all three fields, optional or not. */
export type Undescribed<T> = { readonly [K in Exclude<keyof SelfDescribed, keyof T>]: NonNullable<SelfDescribed[K]> }

/**
 * What every object has that the server has stored, also where a type says that it may be missing. Reviews, such as a
 * SubjectAccessReview, are answered and not stored: they have no name.
 */
interface Named {
  metadata: { name: string }
}

/** An object as the server has stored it: a new one, which can be changed. */
export type Stored<T> = Mutable<T> & { metadata: ObjectMeta } & Named

/** The same for an object of a resource. */
export type StoredOf<R> = ObjectOf<R> & Named
