/**
 * Older essences that some handlers have finished on while others are still at work, by their digests: once all is done,
 * those handlers get the rest as an update of their own. Written and read by the diff-base storages.
 */
import { isPlainObject } from '../../util/json.ts'
import { toAsciiJsonText } from '../../util/json-text.ts'
import type { Essence } from '../causation/causes.ts'
import { parseStored } from './stored-annotations.ts'

export type SeenEssences = ReadonlyMap<string, Essence>

export function parseSeen(text: unknown): SeenEssences {
  const stored = Object.entries(parseStored(text) ?? {})
  return new Map(stored.filter((entry): entry is [string, Essence & {}] => isPlainObject(entry[1])))
}

/** A JSON object in as many bytes as there are at most; the oldest are left out. Undefined where nothing is left. */
export function toSeenText(essences: SeenEssences, room: number): string | undefined {
  const entries: string[] = []
  let size = 2
  for (const [digest, essence] of [...essences].reverse()) {
    const entry = `${JSON.stringify(digest)}:${toAsciiJsonText(essence)}`
    size += entry.length + 1
    if (size > room) break
    entries.push(entry)
  }
  return entries.length > 0 ? `{${entries.reverse().join(',')}}` : undefined
}
