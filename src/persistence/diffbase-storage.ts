/**
 * Stores the last handled essence on the object, in Kopf's format. The difference between it and the current essence is the next change to
 * handle. Reads bodies and adds to patches; sends no requests. Users can write their own storages.
 */

import type { Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { buildEssence, isLargeEssence, toDigestEssence, withoutEmptyStanzas } from '../causation/essence.ts'
import { withoutAnnotations } from '../causation/own-annotations.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject } from '../util/json/json.ts'
import { isLongerAsText, toAsciiJsonText } from '../util/json/json-text.ts'
import { ensurePath, removePath, resolvePath, withoutPath } from '../util/json/paths.ts'
import { AnnotationKeys } from './annotation-keys.ts'
import {
  annotationsLimit,
  availableBytes,
  dropPending,
  markPrefix,
  measureAnnotations,
  parseStored,
  purgeAnnotation,
  readAnnotation,
  type StatusFieldPath,
  toStatusPath,
  writeAnnotation,
} from './stored-annotations.ts'

type StoragePath = string | readonly string[]

/** Options that all diff-base storages have. */
export interface DiffBaseStorageOptions {
  /** Fields whose changes are ignored: dotted paths, or arrays of keys. Default: none. */
  readonly ignoredFields?: Iterable<StoragePath>
}

/** The argument of `DiffBaseStorage.build`. */
export interface BuildOptions {
  /** The object as it was last seen. */
  readonly body: KubeObject
  /** Fields that belong to the essence although they normally do not, such as fields in the status. */
  readonly extraFields?: Iterable<StoragePath> | undefined
}

/** The argument of `DiffBaseStorage.fetch` and `fetchSeen`. */
export interface DiffBaseQuery {
  /** The object as it was last seen. */
  readonly body: KubeObject
}

/** The argument of the methods of `DiffBaseStorage` that write. */
export interface DiffBaseChange extends DiffBaseQuery {
  /** The merge patch that the storage adds to. */
  readonly patch: JsonObject
}

/** The result of `DiffBaseStorage.store`. */
export interface DiffBaseStored {
  /** Whether only a digest was stored because the essence was too large: the next change then has no `old` and no details in `diff`. */
  readonly digested: boolean
}

/**
 * The base class of all diff-base storages, for `settings.persistence.diffbaseStorage`. A diff-base storage keeps the last
 * handled state of an object, so that the next change can be detected. Extend it to write your own storage. All methods are
 * synchronous: they read the body and add to the patch; the framework sends the patch. Default: `AnnotationsDiffBaseStorage`.
 */
export abstract class DiffBaseStorage {
  /** Fields whose changes are ignored. */
  readonly ignoredFields: readonly StoragePath[]

  constructor({ ignoredFields = [] }: DiffBaseStorageOptions = {}) {
    this.ignoredFields = [...ignoredFields]
  }

  /** Returns the current essence of an object, without the data of this storage. The values of a Secret are digests. */
  build({ body, extraFields }: BuildOptions): Essence {
    return buildEssence(body, { extraFields, ignoredFields: this.ignoredFields })
  }

  /**
   * Returns the stored last handled state; undefined if there is none. The values of a Secret may be digests or, if Kopf stored them,
   * plain text.
   */
  abstract fetch(options: DiffBaseQuery): Essence | undefined

  /**
   * Adds the last handled state to the patch. Called when all handlers of a cause have finished. The values of a Secret are digests, or plain
   * text if `settings.persistence.secretValues` is "plain".
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: storages of users may return nothing, as those of Kopf do.
  abstract store(options: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored | void

  /**
   * Returns the states that some handlers have finished on while other handlers have not, by digest; the newest last. Default:
   * none.
   */
  fetchSeen(_options: DiffBaseQuery): SeenEssenceRecords {
    return new Map()
  }

  /**
   * Adds the states that only some handlers have finished on to the patch. Default: does nothing. Without an implementation,
   * these states are lost at a restart: a handler that finished on an older state is then not called with the changes since that
   * state.
   */
  storeSeen(_options: DiffBaseChange & { readonly essences: SeenEssenceRecords }): void {}

  /** Adds the removal of these states to the patch. Called before `store`, which needs the space. Default: does nothing. */
  purgeSeen(_options: DiffBaseChange): void {}
}

/** Options of `AnnotationsDiffBaseStorage`. */
export interface AnnotationsDiffBaseStorageOptions extends DiffBaseStorageOptions {
  /** The prefix of the annotation. Default: `kopf.zalando.org`, as in Kopf. */
  readonly prefix?: string
  /** The name of the annotation. Default: `last-handled-configuration`. */
  readonly key?: string
  /** Whether to read and write also the annotation name of older versions of Kopf, if it differs. Default: true. */
  readonly v1?: boolean
}

/** The name of the annotation or status field for states that only some handlers have finished on. */
const seenKey = 'seen-configurations'

/**
 * The default diff-base storage: stores the last handled state as JSON in an annotation. A state that is too large for the annotations of an object
 * is stored as a digest.
 *
 * @example
 * ```ts
 * settings.persistence.diffbaseStorage = new AnnotationsDiffBaseStorage({ prefix: 'example.com', ignoredFields: ['spec.replicas'] })
 * ```
 */
export class AnnotationsDiffBaseStorage extends DiffBaseStorage {
  /** The prefix of the annotation. */
  readonly prefix: string
  /** The name of the annotation. */
  readonly key: string
  readonly #keys: AnnotationKeys

  constructor(options: AnnotationsDiffBaseStorageOptions = {}) {
    super(options)
    const { prefix = 'kopf.zalando.org', key = 'last-handled-configuration', v1 = true } = options
    this.#keys = new AnnotationKeys({ prefix, v1 })
    this.prefix = prefix
    this.key = key
  }

  override build(options: BuildOptions): Essence {
    const own = [...this.#keys.readable(this.key, options.body), ...this.#keys.readable(seenKey, options.body)]
    return withoutEmptyStanzas(withoutAnnotations(super.build(options), (name) => own.includes(name)))
  }

  fetch({ body }: DiffBaseQuery): Essence | undefined {
    return this.#read(body)
  }

  store({ body, patch, essence }: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored {
    const names = this.#keys.writable(this.key, body)
    const maxBytes = availableBytes(body, patch, names)
    const isTooLong = isLargeEssence(essence) && isLongerAsText(essence, maxBytes)
    const whole = isTooLong ? undefined : toStoredText(essence)
    const digested = whole === undefined || measureAnnotations(names, whole) > maxBytes
    // The digest is always that of the concealed essence, so that it does not depend on the setting `secretValues`.
    const stored = digested ? toDigestEssence(concealSecret(essence, body)) : essence
    const text = digested ? toStoredText(stored) : whole
    this.#write({ body, patch }, names, isDeepEqual(this.#read(body), stored) ? undefined : text)
    return { digested }
  }

  override fetchSeen({ body }: DiffBaseQuery): SeenEssenceRecords {
    const texts = this.#keys.readable(seenKey, body).map((name) => readAnnotation(body, name))
    return parseSeen(texts.find((text) => text !== undefined))
  }

  override storeSeen({ body, patch, essences }: DiffBaseChange & { readonly essences: SeenEssenceRecords }): void {
    const names = this.#keys.writable(seenKey, body)
    const maxBytes = (availableBytes(body, patch, names) - measureAnnotations(names, '\n')) / names.length
    const text = toSeenText(essences, maxBytes)
    if (text === undefined) {
      this.purgeSeen({ body, patch })
      return
    }
    const isSame = names.every((name) => readAnnotation(body, name) === `${text}\n`)
    this.#write({ body, patch }, names, isSame ? undefined : `${text}\n`)
  }

  override purgeSeen({ body, patch }: DiffBaseChange): void {
    for (const name of this.#keys.readable(seenKey, body)) purgeAnnotation(body, patch, name)
  }

  #read(body: KubeObject): Essence | undefined {
    for (const name of this.#keys.readable(this.key, body)) {
      const essence = parseStored(readAnnotation(body, name))
      if (essence !== undefined) return essence
    }
    return undefined
  }

  /** An undefined text leaves the annotations on the object unchanged. */
  #write({ body, patch }: DiffBaseChange, names: readonly string[], text: string | undefined): void {
    for (const name of names) {
      if (text === undefined) dropPending(patch, name)
      else writeAnnotation(patch, name, text)
    }
    if (text !== undefined) markPrefix(body, patch, this.prefix)
  }
}

/** Ends with a line break, as Kopf and kubectl do: it keeps the YAML of the object readable. */
function toStoredText(essence: object): string {
  return `${toAsciiJsonText(essence)}\n`
}

/** Options of `StatusDiffBaseStorage`. */
export interface StatusDiffBaseStorageOptions extends DiffBaseStorageOptions {
  /** The name of the storage, which replaces `{name}` in the path. Default: `kopf`. */
  readonly name?: string
  /** The path of the field. Default: `status.{name}.last-handled-configuration`. */
  readonly field?: StatusFieldPath
}

/**
 * Stores the last handled state as JSON in one field of the status: as a string, so that a merge patch replaces it as a whole.
 * The schema of the resource must allow the field.
 *
 * @example
 * ```ts
 * settings.persistence.diffbaseStorage = new StatusDiffBaseStorage({ name: 'my-operator' })
 * ```
 */
export class StatusDiffBaseStorage extends DiffBaseStorage {
  /** The path of the field. */
  readonly field: readonly string[]
  /** The path of the field for essences that only some handlers have finished on: a sibling of `field`. */
  readonly seenField: readonly string[]

  constructor(options: StatusDiffBaseStorageOptions = {}) {
    super(options)
    const { name = 'kopf', field = 'status.{name}.last-handled-configuration' } = options
    this.field = toStatusPath(field, name)
    this.seenField = [...this.field.slice(0, -1), seenKey]
  }

  override build(options: BuildOptions): Essence {
    return withoutPath(withoutPath(super.build(options), this.field), this.seenField)
  }

  fetch({ body }: DiffBaseQuery): Essence | undefined {
    return parseStored(resolvePath(body, this.field))
  }

  store({ body, patch, essence }: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored {
    if (isDeepEqual(parseStored(resolvePath(body, this.field)), essence)) removePath(patch, this.field)
    else ensurePath(patch, this.field, toAsciiJsonText(essence))
    return { digested: false }
  }

  override fetchSeen({ body }: DiffBaseQuery): SeenEssenceRecords {
    return parseSeen(resolvePath(body, this.seenField))
  }

  override storeSeen({ body, patch, essences }: DiffBaseChange & { readonly essences: SeenEssenceRecords }): void {
    const text = toSeenText(essences, annotationsLimit)
    if (text === undefined) this.purgeSeen({ body, patch })
    else if (resolvePath(body, this.seenField) === text) removePath(patch, this.seenField)
    else ensurePath(patch, this.seenField, text)
  }

  override purgeSeen({ body, patch }: DiffBaseChange): void {
    if (resolvePath(body, this.seenField) !== undefined) ensurePath(patch, this.seenField, null)
    else removePath(patch, this.seenField)
  }
}

/**
 * Combines several storages: writes to all of them, and reads from the first one that has a state. Use it to migrate from one
 * storage to another.
 *
 * @example
 * ```ts
 * settings.persistence.diffbaseStorage = new MultiDiffBaseStorage([
 *   new StatusDiffBaseStorage(),
 *   new AnnotationsDiffBaseStorage({ prefix: 'example.com' }),
 * ])
 * ```
 */
export class MultiDiffBaseStorage extends DiffBaseStorage {
  /** The storages, in the order of reading. */
  readonly storages: readonly DiffBaseStorage[]

  constructor(storages: Iterable<DiffBaseStorage>) {
    super()
    this.storages = [...storages]
  }

  /** Returns the current essence without the data of any of the storages. */
  override build({ body, extraFields }: BuildOptions): Essence {
    let essence = super.build({ body, extraFields })
    for (const storage of this.storages) {
      essence = storage.build({ body: asBody(essence, body), extraFields })
    }
    return essence
  }

  fetch(options: DiffBaseQuery): Essence | undefined {
    for (const storage of this.storages) {
      const essence = storage.fetch(options)
      // Storages written by users may return null.
      if (essence !== undefined && essence !== null) return essence
    }
    return undefined
  }

  store(options: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored {
    const stored = this.storages.map((storage) => storage.store(options))
    return { digested: stored.some((outcome) => outcome?.digested === true) }
  }

  override fetchSeen(options: DiffBaseQuery): SeenEssenceRecords {
    for (const storage of this.storages) {
      const seen = storage.fetchSeen(options)
      if (seen.size > 0) return seen
    }
    return new Map()
  }

  override storeSeen(options: DiffBaseChange & { readonly essences: SeenEssenceRecords }): void {
    for (const storage of this.storages) storage.storeSeen(options)
  }

  override purgeSeen(options: DiffBaseChange): void {
    for (const storage of this.storages) storage.purgeSeen(options)
  }
}

/** Adds the identity of the object to an essence: the annotation keys and the concealing of Secrets depend on kind, uid and owners. */
function asBody(essence: Essence, { apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { labels: _, annotations: __, ...identity } = metadata ?? {}
  const counted = isPlainObject(essence['metadata']) ? essence['metadata'] : {}
  return { ...essence, apiVersion, kind, metadata: { ...identity, ...counted } }
}

/**
 * Older essences that some handlers have finished on while other handlers are still running, by digest. When all have finished, these handlers
 * are called with the changes since then as an update.
 */
export type SeenEssenceRecords = ReadonlyMap<string, Essence>

function parseSeen(text: unknown): SeenEssenceRecords {
  const stored = Object.entries(parseStored(text) ?? {})
  return new Map(stored.filter((entry): entry is [string, Essence & {}] => isPlainObject(entry[1])))
}

/** A JSON object of at most `maxBytes`, without the oldest essences if necessary. Undefined if no essence fits. */
function toSeenText(essences: SeenEssenceRecords, maxBytes: number): string | undefined {
  const entries: string[] = []
  let size = 2
  for (const [digest, essence] of [...essences].reverse()) {
    const entry = `${JSON.stringify(digest)}:${toAsciiJsonText(essence)}`
    size += entry.length + 1
    if (size > maxBytes) break
    entries.push(entry)
  }
  return entries.length > 0 ? `{${entries.reverse().join(',')}}` : undefined
}
