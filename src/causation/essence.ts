/**
 * Builds the essence of an object: the part whose changes count as changes. Called once per event by the diff-base storages. The
 * essence shares values with the body and never modifies it.
 */

import { isDeepEqual } from '../util/json/deep-equal.ts'
import { isPlainObject } from '../util/json/json.ts'
import { isLargeValue } from '../util/json/lazy-member.ts'
import { parsePath, resolvePath, withoutPath, withPath } from '../util/json/paths.ts'
import { digestSorted, digestSortedInSlices } from '../util/text/sorted-digest.ts'
import type { Essence, Json, JsonObject } from './cause.ts'
import { concealSecret } from './conceal-secrets.ts'
import { dropSystemAnnotations } from './own-annotations.ts'

type EssencePath = string | readonly string[]

export interface EssenceOptions {
  /** Fields in the status or in system metadata that belong to the essence because handlers use them as their `field`. */
  readonly extraFields?: Iterable<EssencePath> | undefined
  /** Other fields whose changes are ignored. */
  readonly ignoredFields?: Iterable<EssencePath> | undefined
}

const systemFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status'])

/** Follows the order of Kopf: extra fields are added whole, and ignored fields are removed last. */
export function buildEssence(body: object, { extraFields = [], ignoredFields = [] }: EssenceOptions = {}): Essence {
  let essence: Essence = Object.fromEntries(Object.entries(body).filter(([key]) => !systemFields.has(key)))
  const metadata = pickMetadata(body)
  if (metadata !== undefined) essence = { ...essence, metadata }
  for (const field of extraFields) {
    const path = parsePath(field)
    const value = resolvePath(body, path)
    if (value !== undefined && path.length > 0) essence = withPath(essence, path, value)
  }
  essence = withoutEmptyStanzas(essence)
  for (const field of ignoredFields) essence = withoutPath(essence, parsePath(field))
  return concealSecret(essence, body)
}

/** Removes empty labels, annotations, metadata and status: adding or removing an empty stanza is no change. */
export function withoutEmptyStanzas(essence: Essence): Essence {
  let result = essence
  for (const path of [['metadata', 'annotations'], ['metadata', 'labels'], ['metadata'], ['status']]) {
    const value = resolvePath(result, path)
    if (value !== undefined && isEmptyStanza(value)) result = withoutPath(result, path)
  }
  return result
}

function isEmptyStanza(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return !value
  return Object.keys(value).length === 0
}

function pickMetadata(body: object): JsonObject | undefined {
  const metadata = resolvePath(body, ['metadata'])
  if (!isPlainObject(metadata)) return undefined
  const picked: JsonObject = {}
  if (isFilled(metadata['labels'])) picked['labels'] = metadata['labels']
  if (isFilled(metadata['annotations'])) picked['annotations'] = dropSystemAnnotations(metadata['annotations'])
  return Object.keys(picked).length > 0 ? picked : undefined
}

function isFilled(value: Json | undefined): value is JsonObject {
  return isPlainObject(value) && Object.keys(value).length > 0
}

/**
 * The digest of an essence, which is stored if the essence is too large for the annotations of an object. Two essences have the
 * same digest exactly if diff.ts finds no difference between them.
 */
export type DigestEssence = { readonly 'kopf.dev/digest': string }

export function isDigestEssence(essence: Essence | DigestEssence): essence is DigestEssence {
  return typeof essence['kopf.dev/digest'] === 'string' && Object.keys(essence).length === 1
}

export function toDigestEssence(essence: Essence): DigestEssence {
  return { 'kopf.dev/digest': digestEssence(essence) }
}

/** A digest of 22 characters. The order of keys does not matter, and a field with null counts as absent, except in lists. */
export function digestEssence(essence: Essence): string {
  const large = findLarge(essence)
  if (large === undefined) return digestSorted(essence)
  const known = cachedDigest(essence, large) ?? digestSorted(essence)
  cacheDigest(essence, large, known)
  return known
}

/** Whether the essence contains a large value that is kept as text. */
export function isLargeEssence(essence: Essence): boolean {
  return findLarge(essence) !== undefined
}

/** The time slice of a digest computation: other work runs between two slices. */
const sliceMs = 20

/** Computes the digest of a large essence in slices, so that a later `digestEssence` returns the result at once. */
export async function prepareDigest(essence: Essence): Promise<void> {
  const large = findLarge(essence)
  if (large === undefined || cachedDigest(essence, large) !== undefined) return
  cacheDigest(essence, large, await digestSortedInSlices(essence, sliceMs))
}

interface LargeField {
  readonly key: string
  readonly value: object
}

interface KnownDigest {
  /** The essence without the large value. */
  readonly rest: object
  readonly key: string
  readonly digest: string
}

/** The last computed digest, by a large value of the essence: it is needed several times while an object is handled. */
const digests = new WeakMap<object, KnownDigest>()

function findLarge(essence: Essence): LargeField | undefined {
  for (const key of Object.keys(essence)) {
    const value = essence[key]
    if (isLargeValue(value)) return { key, value }
  }
  return undefined
}

function cachedDigest(essence: Essence, { key, value }: LargeField): string | undefined {
  const known = digests.get(value)
  return known?.key === key && isDeepEqual(known.rest, without(essence, key)) ? known.digest : undefined
}

function cacheDigest(essence: Essence, { key, value }: LargeField, digest: string): void {
  digests.set(value, { key, rest: without(essence, key), digest })
}

function without(essence: Essence, key: string): object {
  const { [key]: _, ...rest } = essence as { readonly [key: string]: unknown }
  return rest
}

/** The digest of everything except metadata and status: usually the spec. */
export function digestSpec(body: object): string {
  const { apiVersion: _, kind: __, metadata: ___, status: ____, ...spec } = body as Record<string, unknown>
  return digestEssence(spec as Essence)
}
