/**
 * The digest of an essence: to tell whether two are the same where the whole of one cannot be kept. Agrees with diff.ts:
 * two essences have one digest exactly if there is no difference between them.
 */
import { digestText } from '../../util/digest.ts'
import { isContainer, type JsonContainer, setOwn } from '../../util/json.ts'
import { toJsonText } from '../../util/json-text.ts'
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
  return digestText(toJsonText(sortKeys(essence)))
}

/** The digest of what the author of an object asks for: everything but its metadata and its status. */
export function digestSpec(body: object): string {
  const { apiVersion: _, kind: __, metadata: ___, status: ____, ...asked } = body as Record<string, unknown>
  return digestEssence(asked as Essence)
}

interface Unsorted {
  readonly from: JsonContainer
  readonly to: unknown[] | { [key: string]: unknown }
  readonly listed: boolean
}

/** A copy whose keys were put in one by one in a fixed order: the native writer goes by that, and is fast. */
function sortKeys(essence: Essence): object {
  const root = {}
  const pending: Unsorted[] = [{ from: essence, to: root, listed: false }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { from, to, listed } = next
    if (Array.isArray(from)) {
      for (const item of from) (to as unknown[]).push(sortedLater(item, true, pending))
      continue
    }
    for (const key of Object.keys(from).sort()) {
      const value = from[key]
      if (value !== null || listed) setOwn(to as { [key: string]: unknown }, key, sortedLater(value, listed, pending))
    }
  }
  return root
}

/** A scalar itself, or an empty container that is filled when its turn comes. */
function sortedLater(value: unknown, listed: boolean, pending: Unsorted[]): unknown {
  if (!isContainer(value)) return value
  const to = Array.isArray(value) ? [] : {}
  pending.push({ from: value, to, listed })
  return to
}
