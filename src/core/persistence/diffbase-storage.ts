/**
 * Where the essence that was handled last is kept: on the object, in Kopf's format; what differs from it is the change to
 * handle next. Reads bodies, writes into patches, sends nothing. Users may write storages of their own.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { isDeepEqual } from '../../util/equality.ts'
import { isPlainObject } from '../../util/json.ts'
import { isLongerAsText, toAsciiJsonText } from '../../util/json-text.ts'
import { ensurePath, removePath, resolvePath, withoutPath } from '../../util/paths.ts'
import { withoutAnnotations } from '../causation/annotations.ts'
import type { Essence } from '../causation/causes.ts'
import { buildEssence, withoutEmptyStanzas } from '../causation/essence.ts'
import { isLargeEssence, toDigestEssence } from '../causation/essence-digest.ts'
import { concealSecret } from '../causation/secrets.ts'
import { AnnotationKeys } from './annotation-keys.ts'
import { parseSeen, type SeenEssences, toSeenText } from './seen-essences.ts'
import { type StatusFieldPath, toStatusPath } from './status-field.ts'
import {
  annotationsLimit,
  dropPending,
  markPrefix,
  measureAnnotations,
  measureRoom,
  parseStored,
  purgeAnnotation,
  readAnnotation,
  writeAnnotation,
} from './stored-annotations.ts'

type FieldPath = string | readonly string[]

export interface DiffBaseStorageOptions {
  /** Fields whose changes are none: dotted paths, or arrays of keys. Default: none. */
  readonly ignoredFields?: Iterable<FieldPath>
}

export interface BuildOptions {
  readonly body: KubeObject
  readonly extraFields?: Iterable<FieldPath> | undefined
}

export interface DiffBaseQuery {
  readonly body: KubeObject
}

export interface DiffBaseChange extends DiffBaseQuery {
  /** A merge patch, to be added to. */
  readonly patch: JsonObject
}

export interface DiffBaseStored {
  /** The essence was too large, and only its digest was stored: the next change will come without its details. */
  readonly digested: boolean
}

/** The base of all diff-base storages. All methods are synchronous. */
export abstract class DiffBaseStorage {
  readonly ignoredFields: readonly FieldPath[]

  constructor({ ignoredFields = [] }: DiffBaseStorageOptions = {}) {
    this.ignoredFields = [...ignoredFields]
  }

  /** The essence of an object as it is: without what this storage keeps on it. The values of a Secret are digests. */
  build({ body, extraFields }: BuildOptions): Essence {
    return buildEssence(body, { extraFields, ignoredFields: this.ignoredFields })
  }

  /**
   * The last handled state, as it is kept on the object; undefined where there is none. Of a Secret, its values may be digests or,
   * where Kopf has stored them, plain.
   */
  abstract fetch(options: DiffBaseQuery): Essence | undefined

  /** Puts the last handled state into the patch. The values of a Secret are digests, or plain with the setting `secretValues`. */
  // biome-ignore lint/suspicious/noConfusingVoidType: storages of users, as those of Kopf, may have nothing to say.
  abstract store(options: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored | void

  /** Essences that some handlers have finished on while others have not, by digest; the newest last. */
  fetchSeen(_options: DiffBaseQuery): SeenEssences {
    return new Map()
  }

  /** Without it, a handler that saw an older state than the others is not told of the rest after a restart. */
  storeSeen(_options: DiffBaseChange & { readonly essences: SeenEssences }): void {}

  /** To be called before `store`, so that there is room for it. */
  purgeSeen(_options: DiffBaseChange): void {}
}

export interface AnnotationsDiffBaseStorageOptions extends DiffBaseStorageOptions {
  /** Default: `kopf.zalando.org`, as in Kopf. */
  readonly prefix?: string
  /** Default: `last-handled-configuration`. */
  readonly key?: string
  /** Whether to keep it under the name of older versions of Kopf too, where it differs. Default: true. */
  readonly v1?: boolean
}

const seenKey = 'seen-configurations'

/** The essence as JSON in an annotation. */
export class AnnotationsDiffBaseStorage extends DiffBaseStorage {
  readonly prefix: string
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
    const room = measureRoom(body, patch, names)
    const isTooLong = isLargeEssence(essence) && isLongerAsText(essence, room)
    const whole = isTooLong ? undefined : toStoredText(essence)
    const digested = whole === undefined || measureAnnotations(names, whole) > room
    // Also with plain values, the digest is the one of the concealed essence, so that it does not depend on the setting.
    const stored = digested ? toDigestEssence(concealSecret(essence, body)) : essence
    const text = digested ? toStoredText(stored) : whole
    this.#write({ body, patch }, names, isDeepEqual(this.#read(body), stored) ? undefined : text)
    return { digested }
  }

  override fetchSeen({ body }: DiffBaseQuery): SeenEssences {
    const texts = this.#keys.readable(seenKey, body).map((name) => readAnnotation(body, name))
    return parseSeen(texts.find((text) => text !== undefined))
  }

  override storeSeen({ body, patch, essences }: DiffBaseChange & { readonly essences: SeenEssences }): void {
    const names = this.#keys.writable(seenKey, body)
    const room = (measureRoom(body, patch, names) - measureAnnotations(names, '\n')) / names.length
    const text = toSeenText(essences, room)
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

  /** Nothing to write means that what is on the body is to stay. */
  #write({ body, patch }: DiffBaseChange, names: readonly string[], text: string | undefined): void {
    for (const name of names) {
      if (text === undefined) dropPending(patch, name)
      else writeAnnotation(patch, name, text)
    }
    if (text !== undefined) markPrefix(body, patch, this.prefix)
  }
}

/** The line break is Kopf's and kubectl's: it keeps the YAML of the object readable. */
function toStoredText(essence: object): string {
  return `${toAsciiJsonText(essence)}\n`
}

export interface StatusDiffBaseStorageOptions extends DiffBaseStorageOptions {
  /** Default: `kopf`. */
  readonly name?: string
  /** Default: `status.{name}.last-handled-configuration`. */
  readonly field?: StatusFieldPath
}

/** The essence as JSON in one field of the status: as a text, so that nothing merges into it. */
export class StatusDiffBaseStorage extends DiffBaseStorage {
  readonly field: readonly string[]
  /** Beside the field. */
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

  override fetchSeen({ body }: DiffBaseQuery): SeenEssences {
    return parseSeen(resolvePath(body, this.seenField))
  }

  override storeSeen({ body, patch, essences }: DiffBaseChange & { readonly essences: SeenEssences }): void {
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

/** Several storages: written to all of them, read from the first that has something. */
export class MultiDiffBaseStorage extends DiffBaseStorage {
  readonly storages: readonly DiffBaseStorage[]

  constructor(storages: Iterable<DiffBaseStorage>) {
    super()
    this.storages = [...storages]
  }

  /** Each storage takes its own out of what the one before has left. */
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
      // Storages written by users may well say null.
      if (essence !== undefined && essence !== null) return essence
    }
    return undefined
  }

  store(options: DiffBaseChange & { readonly essence: Essence }): DiffBaseStored {
    const stored = this.storages.map((storage) => storage.store(options))
    return { digested: stored.some((outcome) => outcome?.digested === true) }
  }

  override fetchSeen(options: DiffBaseQuery): SeenEssences {
    for (const storage of this.storages) {
      const seen = storage.fetchSeen(options)
      if (seen.size > 0) return seen
    }
    return new Map()
  }

  override storeSeen(options: DiffBaseChange & { readonly essences: SeenEssences }): void {
    for (const storage of this.storages) storage.storeSeen(options)
  }

  override purgeSeen(options: DiffBaseChange): void {
    for (const storage of this.storages) storage.purgeSeen(options)
  }
}

/** An essence with what tells objects apart put back: kind, uid and owners decide on keys and secrets. */
function asBody(essence: Essence, { apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { labels: _, annotations: __, ...identity } = metadata ?? {}
  const counted = isPlainObject(essence['metadata']) ? essence['metadata'] : {}
  return { ...essence, apiVersion, kind, metadata: { ...identity, ...counted } }
}
