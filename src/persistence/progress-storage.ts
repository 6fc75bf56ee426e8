/**
 * Stores the progress of handlers on the object itself, in Kopf's format. So an operator can be restarted, or replaced by one written
 * with Kopf, in the middle of the handling. Reads bodies and adds to patches; sends no requests. Users can write their own storages.
 */

import type { Essence } from '../causation/cause.ts'
import { withoutEmptyStanzas } from '../causation/essence.ts'
import { withoutAnnotations } from '../causation/own-annotations.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import { toAsciiJsonText } from '../util/json/json-text.ts'
import { ensurePath, removePath, resolvePath, withoutPath } from '../util/json/paths.ts'
import { AnnotationKeys } from './annotation-keys.ts'
import {
  isSameRecord,
  ownFieldsOf,
  type ProgressRecord,
  readRecord,
  toBriefRecord,
  toFullRecord,
} from './progress-record.ts'
import {
  dropPending,
  markPrefix,
  parseStored,
  purgeAnnotation,
  readAnnotation,
  type StatusFieldPath,
  toStatusPath,
  writeAnnotation,
} from './stored-annotations.ts'

export type { ProgressRecord }

/** The argument of `ProgressStorage.fetch`. */
export interface ProgressQuery {
  /** The id of the handler. */
  readonly key: string
  /** The object as it was last seen. */
  readonly body: KubeObject
}

/** The argument of `ProgressStorage.store` and `purge`. */
export interface ProgressChange extends ProgressQuery {
  /** The merge patch that the storage adds to. */
  readonly patch: JsonObject
}

/** The argument of `ProgressStorage.touch`. */
export interface ProgressTouch {
  /** The object as it was last seen. */
  readonly body: KubeObject
  /** The merge patch that the storage adds to. */
  readonly patch: JsonObject
  /** The new value; null to remove the field. */
  readonly value: string | null
}

/**
 * The base class of all progress storages, for `settings.persistence.progressStorage`. A progress storage keeps one record for
 * each handler while an object is handled, so that retries survive a restart of the operator. Extend it to write your own
 * storage. All methods are synchronous: they read the body and add to the patch; the framework sends the patch. Default:
 * `SmartProgressStorage`.
 */
export abstract class ProgressStorage {
  /** Returns the stored record of a handler; undefined if there is none. */
  abstract fetch(options: ProgressQuery): ProgressRecord | undefined

  /** Adds the record of a handler to the patch. Called after each attempt. */
  abstract store(options: ProgressChange & { readonly record: ProgressRecord }): void

  /** Adds the removal of a handler's record to the patch. Called when all handlers of the cause have finished. */
  abstract purge(options: ProgressChange): void

  /** Adds a change without a meaning to the patch, so that the watch delivers an event for the object. */
  abstract touch(options: ProgressTouch): void

  /** Returns the essence without the records of this storage, so that they do not count as a change of the object. */
  clear({ essence }: { readonly essence: Essence }): Essence {
    return essence
  }

  /** Called when all records of a cycle are stored, for storages that collect them. Default: does nothing. */
  flush(): void {}
}

/** Options of `AnnotationsProgressStorage`. */
export interface AnnotationsProgressStorageOptions {
  /** The prefix of the annotations. Default: `kopf.zalando.org`, as in Kopf. */
  readonly prefix?: string
  /** Whether to write fields without a value as null. Default: false. */
  readonly verbose?: boolean
  /** The name of the annotation for `touch`. Default: `touch-dummy`. */
  readonly touchKey?: string
  /** Whether to read and write also the annotation names of older versions of Kopf, if they differ. Default: true. */
  readonly v1?: boolean
}

/** A longer error message is cut: a stack trace of megabytes would make the object too large to be patched. */
const maxMessageLength = 1024

/**
 * Stores the progress in annotations: one for each handler, with its record as JSON.
 *
 * @example
 * ```ts
 * settings.persistence.progressStorage = new AnnotationsProgressStorage({ prefix: 'example.com' })
 * ```
 */
export class AnnotationsProgressStorage extends ProgressStorage {
  /** The prefix of the annotations. */
  readonly prefix: string
  /** Whether fields without a value are written as null. */
  readonly verbose: boolean
  /** The name of the annotation for `touch`. */
  readonly touchKey: string
  readonly #keys: AnnotationKeys

  constructor(options: AnnotationsProgressStorageOptions = {}) {
    super()
    const { prefix = 'kopf.zalando.org', verbose = false, touchKey = 'touch-dummy', v1 = true } = options
    this.#keys = new AnnotationKeys({ prefix, v1 })
    this.prefix = prefix
    this.verbose = verbose
    this.touchKey = touchKey
  }

  fetch({ key, body }: ProgressQuery): ProgressRecord | undefined {
    for (const name of this.#keys.readable(key, body)) {
      const record = readRecord(parseStored(readAnnotation(body, name)))
      if (record !== undefined) return record
    }
    return undefined
  }

  store({ key, record: given, body, patch }: ProgressChange & { readonly record: ProgressRecord }): void {
    const record = { ...given, message: given.message?.slice(0, maxMessageLength).replace(/[\ud800-\udbff]$/, '') }
    const isSame = isSameRecord(this.fetch({ key, body }), record)
    const text = isSame ? '' : toAsciiJsonText(this.verbose ? toFullRecord(record) : toBriefRecord(record))
    for (const name of this.#keys.writable(key, body)) {
      if (isSame) dropPending(patch, name)
      else writeAnnotation(patch, name, text)
    }
    if (!isSame) markPrefix(body, patch, this.prefix)
  }

  purge({ key, body, patch }: ProgressChange): void {
    for (const name of this.#keys.readable(key, body)) purgeAnnotation(body, patch, name)
  }

  touch({ body, patch, value }: ProgressTouch): void {
    const { touchKey } = this
    const names = value === null ? this.#keys.readable(touchKey, body) : this.#keys.writable(touchKey, body)
    for (const name of names) {
      if ((readAnnotation(body, name) ?? null) === value) continue
      writeAnnotation(patch, name, value)
      markPrefix(body, patch, this.prefix)
    }
  }

  override clear({ essence }: { readonly essence: Essence }): Essence {
    return withoutEmptyStanzas(withoutAnnotations(essence, (key) => key.startsWith(`${this.prefix}/`)))
  }
}

/** Options of `StatusProgressStorage`. */
export interface StatusProgressStorageOptions {
  /** The name of the storage, which replaces `{name}` in the paths. Default: `kopf`. */
  readonly name?: string
  /** The path of the records. Default: `status.{name}.progress`. */
  readonly field?: StatusFieldPath
  /** The path of the field for `touch`. Default: `status.{name}.dummy`. */
  readonly touchField?: StatusFieldPath
}

/**
 * Stores the progress in a field of the status, with a record for each handler. The schema of the resource must allow the field.
 *
 * @example
 * ```ts
 * settings.persistence.progressStorage = new StatusProgressStorage({ name: 'my-operator' })
 * ```
 */
export class StatusProgressStorage extends ProgressStorage {
  /** The path of the records. */
  readonly field: readonly string[]
  /** The path of the field for `touch`. */
  readonly touchField: readonly string[]

  constructor(options: StatusProgressStorageOptions = {}) {
    super()
    const { name = 'kopf', field = 'status.{name}.progress', touchField = 'status.{name}.dummy' } = options
    this.field = toStatusPath(field, name)
    this.touchField = toStatusPath(touchField, name)
  }

  fetch({ key, body }: ProgressQuery): ProgressRecord | undefined {
    const records = resolvePath(body, this.field)
    return isPlainObject(records) ? readRecord(getOwn(records, key)) : undefined
  }

  store({ key, record, body, patch }: ProgressChange & { readonly record: ProgressRecord }): void {
    const stored = this.fetch({ key, body })
    if (isSameRecord(stored, record)) {
      removePath(patch, [...this.field, key])
      return
    }
    // Absent fields are written as nulls: a merge patch leaves fields that it does not name unchanged.
    const full = toFullRecord(record)
    for (const name of ownFieldsOf(stored)) full[name] ??= null
    ensurePath(patch, [...this.field, key], full)
  }

  purge({ key, body, patch }: ProgressChange): void {
    const path = [...this.field, key]
    if (resolvePath(body, path) !== undefined) ensurePath(patch, path, null)
    else removePath(patch, path)
  }

  touch({ body, patch, value }: ProgressTouch): void {
    if ((resolvePath(body, this.touchField) ?? null) !== value) ensurePath(patch, this.touchField, value)
  }

  override clear({ essence }: { readonly essence: Essence }): Essence {
    return withoutEmptyStanzas(withoutPath(essence, this.field))
  }
}

/**
 * Combines several storages: writes to all of them, and reads from the first one that has a record. Use it to migrate from one storage
 * to another.
 *
 * @example
 * ```ts
 * settings.persistence.progressStorage = new MultiProgressStorage([
 *   new StatusProgressStorage(),
 *   new AnnotationsProgressStorage({ prefix: 'example.com' }),
 * ])
 * ```
 */
export class MultiProgressStorage extends ProgressStorage {
  /** The storages, in the order of reading. */
  readonly storages: readonly ProgressStorage[]

  constructor(storages: Iterable<ProgressStorage>) {
    super()
    this.storages = [...storages]
  }

  fetch(options: ProgressQuery): ProgressRecord | undefined {
    for (const storage of this.storages) {
      const record = storage.fetch(options)
      // Storages written by users may return null.
      if (record !== undefined && record !== null) return record
    }
    return undefined
  }

  store(options: ProgressChange & { readonly record: ProgressRecord }): void {
    for (const storage of this.storages) storage.store(options)
  }

  purge(options: ProgressChange): void {
    for (const storage of this.storages) storage.purge(options)
  }

  touch(options: ProgressTouch): void {
    for (const storage of this.storages) storage.touch(options)
  }

  override clear({ essence }: { readonly essence: Essence }): Essence {
    return this.storages.reduce((cleared, storage) => storage.clear({ essence: cleared }), essence)
  }

  override flush(): void {
    for (const storage of this.storages) storage.flush()
  }
}

/** Reads and removes records that old versions of Kopf wrote to the status; writes none. */
class PastStatusProgressStorage extends StatusProgressStorage {
  override store(): void {}
  override touch(): void {}
}

/** Options of `SmartProgressStorage`. */
export interface SmartProgressStorageOptions extends AnnotationsProgressStorageOptions, StatusProgressStorageOptions {}

/**
 * The default progress storage: stores records in annotations, and reads and removes records that old versions of Kopf left in the
 * status.
 *
 * @example
 * ```ts
 * settings.persistence.progressStorage = new SmartProgressStorage({ prefix: 'example.com' })
 * ```
 */
export class SmartProgressStorage extends MultiProgressStorage {
  constructor(options: SmartProgressStorageOptions = {}) {
    super([new AnnotationsProgressStorage(options), new PastStatusProgressStorage(options)])
  }
}
