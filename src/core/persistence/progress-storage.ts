/**
 * Where the progress of handlers is kept between two looks at an object: on the object itself, in Kopf's format, so that an
 * operator can be restarted, or exchanged for one on Kopf, half-way. Reads bodies, writes into patches, sends nothing.
 * Called by handling/progress.ts; users may write storages of their own.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { getOwn, isPlainObject } from '../../util/json.ts'
import { toAsciiJsonText } from '../../util/json-text.ts'
import { ensurePath, removePath, resolvePath, withoutPath } from '../../util/paths.ts'
import { withoutAnnotations } from '../causation/annotations.ts'
import type { Essence } from '../causation/causes.ts'
import { withoutEmptyStanzas } from '../causation/essence.ts'
import { AnnotationKeys } from './annotation-keys.ts'
import {
  isSameRecord,
  ownFieldsOf,
  type ProgressRecord,
  readRecord,
  toBriefRecord,
  toFullRecord,
} from './progress-record.ts'
import { type StatusFieldPath, toStatusPath } from './status-field.ts'
import {
  dropPending,
  markPrefix,
  parseStored,
  purgeAnnotation,
  readAnnotation,
  writeAnnotation,
} from './stored-annotations.ts'

export type { ProgressRecord }

export interface ProgressQuery {
  /** The id of the handler. */
  readonly key: string
  readonly body: KubeObject
}

export interface ProgressChange extends ProgressQuery {
  /** A merge patch, to be added to. */
  readonly patch: JsonObject
}

export interface ProgressTouch {
  readonly body: KubeObject
  readonly patch: JsonObject
  /** Anything new; null to remove it. */
  readonly value: string | null
}

/** The base of all progress storages. All methods are synchronous. */
export abstract class ProgressStorage {
  /** What is kept of a handler on the object; undefined where there is nothing. */
  abstract fetch(options: ProgressQuery): ProgressRecord | undefined

  /** Puts into the patch what is to be kept of a handler. */
  abstract store(options: ProgressChange & { readonly record: ProgressRecord }): void

  /** Puts into the patch that nothing is kept of a handler any more. */
  abstract purge(options: ProgressChange): void

  /** Makes a change that says nothing, for those who wait for an event. */
  abstract touch(options: ProgressTouch): void

  /** The essence without what this storage keeps in it: its records are no change of the object. */
  clear({ essence }: { readonly essence: Essence }): Essence {
    return essence
  }

  /** Called when all records of a cycle are stored, for storages that gather them. */
  flush(): void {}
}

export interface AnnotationsProgressStorageOptions {
  /** Default: `kopf.zalando.org`, as in Kopf. */
  readonly prefix?: string
  /** Whether to write fields without a value too. Default: false. */
  readonly verbose?: boolean
  /** Default: `touch-dummy`. */
  readonly touchKey?: string
  /** Whether to keep the annotations under the names of older versions of Kopf too, where they differ. Default: true. */
  readonly v1?: boolean
}

/** Error messages are for people; a stack of megabytes would make the object too large to be patched at all. */
const maxMessage = 1024

/** An annotation for each handler, with its record as JSON. */
export class AnnotationsProgressStorage extends ProgressStorage {
  readonly prefix: string
  readonly verbose: boolean
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
    const record = { ...given, message: given.message?.slice(0, maxMessage).replace(/[\ud800-\udbff]$/, '') }
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

export interface StatusProgressStorageOptions {
  /** Default: `kopf`. */
  readonly name?: string
  /** Default: `status.{name}.progress`. */
  readonly field?: StatusFieldPath
  /** Default: `status.{name}.dummy`. */
  readonly touchField?: StatusFieldPath
}

/** A field in the status, with a record for each handler. The schema of the resource has to allow it. */
export class StatusProgressStorage extends ProgressStorage {
  readonly field: readonly string[]
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
    // With nulls: the fields that the merge patch does not name would stay as they were.
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

/** Several storages: written to all of them, read from the first that has something. */
export class MultiProgressStorage extends ProgressStorage {
  readonly storages: readonly ProgressStorage[]

  constructor(storages: Iterable<ProgressStorage>) {
    super()
    this.storages = [...storages]
  }

  fetch(options: ProgressQuery): ProgressRecord | undefined {
    for (const storage of this.storages) {
      const record = storage.fetch(options)
      // Storages written by users may well say null.
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

/** What was once written to the status, by old versions of Kopf, is still read and removed; nothing new is put there. */
class PastStatusProgressStorage extends StatusProgressStorage {
  override store(): void {}
  override touch(): void {}
}

export interface SmartProgressStorageOptions extends AnnotationsProgressStorageOptions, StatusProgressStorageOptions {}

/** The default: annotations, and what is left in the status from earlier. */
export class SmartProgressStorage extends MultiProgressStorage {
  constructor(options: SmartProgressStorageOptions = {}) {
    super([new AnnotationsProgressStorage(options), new PastStatusProgressStorage(options)])
  }
}
