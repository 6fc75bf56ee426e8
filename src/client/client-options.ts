/** What the methods of `Client` take beside the resource. Types only. */
import type { KubeObject } from '../kube/objects.ts'

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

/** Every field at every depth may be left out: what is applied is what one has an opinion on. */
export type DeepPartial<T> = T extends readonly (infer E)[]
  ? readonly DeepPartial<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T

/** Says itself what it is, so that the resource need not be named. */
export type SelfDescribed = Pick<KubeObject, 'apiVersion' | 'kind'> & { readonly metadata: object }
