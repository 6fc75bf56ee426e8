/**
 * The digest of an essence: to tell whether two are the same where the whole of one cannot be kept. Agrees with diff.ts:
 * two essences have one digest exactly if there is no difference between them.
 */
import { isDeepEqual } from '../../util/equality.ts'
import { isLargeValue } from '../../util/lazy-member.ts'
import { digestSorted, digestSortedInSlices } from '../../util/sorted-digest.ts'
import type { Essence } from './causes.ts'

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
