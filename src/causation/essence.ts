/**
 * The part of a body that counts: what differs in it is a change, what differs elsewhere is not. Called once per event, by
 * the diff-base storages. The essence shares with the body whatever it can, and never changes it.
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
  /** Fields that count although they are in the status or in system metadata: those that handlers have asked for. */
  readonly extraFields?: Iterable<EssencePath> | undefined
  /** Fields that do not count although they are elsewhere. */
  readonly ignoredFields?: Iterable<EssencePath> | undefined
}

const systemFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status'])

/** The order of the steps is Kopf's: extra fields come back whole, and ignored fields win over them. */
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

/** The same without empty labels, annotations, metadata and status: it is no change when they come or go. */
export function withoutEmptyStanzas(essence: Essence): Essence {
  let result = essence
  for (const path of [['metadata', 'annotations'], ['metadata', 'labels'], ['metadata'], ['status']]) {
    const value = resolvePath(result, path)
    if (value !== undefined && isHollow(value)) result = withoutPath(result, path)
  }
  return result
}

function isHollow(value: unknown): boolean {
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
 * The digest of an essence: to tell whether two are the same where the whole of one cannot be kept. Agrees with diff.ts:
 * two essences have one digest exactly if there is no difference between them.
 */

/** What is stored of an essence that is too large for the annotations of an object. */
export type DigestEssence = { readonly 'kopf.dev/digest': string }

export function isDigestEssence(essence: Essence | DigestEssence): essence is DigestEssence {
  return typeof essence['kopf.dev/digest'] === 'string' && Object.keys(essence).length === 1
}

export function toDigestEssence(essence: Essence): DigestEssence {
  return { 'kopf.dev/digest': digestEssence(essence) }
}

/** 22 characters. The order of keys is irrelevant, and a field with null is no field, except in lists. */
export function digestEssence(essence: Essence): string {
  const place = findLarge(essence)
  if (place === undefined) return digestSorted(essence)
  const known = recall(essence, place) ?? digestSorted(essence)
  keep(essence, place, known)
  return known
}

/** Whether the essence has a value that was kept as text. */
export function isLargeEssence(essence: Essence): boolean {
  return findLarge(essence) !== undefined
}

/** So long other work waits while a large essence is digested. */
const sliceMs = 20

/** Works out the digest of a large essence with other work in between, so that `digestEssence` has it at once. */
export async function prepareDigest(essence: Essence): Promise<void> {
  const place = findLarge(essence)
  if (place === undefined || recall(essence, place) !== undefined) return
  keep(essence, place, await digestSortedInSlices(essence, sliceMs))
}

interface LargePlace {
  readonly key: string
  readonly value: object
}

interface KnownDigest {
  /** The essence without the large value. */
  readonly rest: object
  readonly key: string
  readonly digest: string
}

/** By a large value in it, the last essence that was digested: while an object is handled, its digest is needed several times. */
const digests = new WeakMap<object, KnownDigest>()

function findLarge(essence: Essence): LargePlace | undefined {
  for (const key of Object.keys(essence)) {
    const value = essence[key]
    if (isLargeValue(value)) return { key, value }
  }
  return undefined
}

function recall(essence: Essence, { key, value }: LargePlace): string | undefined {
  const known = digests.get(value)
  return known?.key === key && isDeepEqual(known.rest, without(essence, key)) ? known.digest : undefined
}

function keep(essence: Essence, { key, value }: LargePlace, digest: string): void {
  digests.set(value, { key, rest: without(essence, key), digest })
}

function without(essence: Essence, key: string): object {
  const { [key]: _, ...rest } = essence as { readonly [key: string]: unknown }
  return rest
}

/** The digest of what the author of an object asks for: everything but its metadata and its status. */
export function digestSpec(body: object): string {
  const { apiVersion: _, kind: __, metadata: ___, status: ____, ...asked } = body as Record<string, unknown>
  return digestEssence(asked as Essence)
}
