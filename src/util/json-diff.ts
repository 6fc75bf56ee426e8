/** The JSON patch (RFC 6902) that turns one document into another: only add, remove and replace. Does not recurse. */
import { isDeepEqual } from './equality.ts'
import { isPlainObject, type Json } from './json.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }

/** A path from the end to the beginning: written out only for what goes into the patch. */
interface Place {
  readonly parent: Place | undefined
  readonly key: string
  /** About the length of the path as text. */
  readonly length: number
}

interface Pair {
  readonly place: Place | undefined
  readonly old: Json
  readonly now: Json
}

/**
 * The paths of one patch are limited in their length together, because each is written out: the sum grows with the square of the
 * depth, and a long key is repeated for all that is below it. Each compared field pays for some characters, so that a
 * patch is in proportion to the documents; besides that, every patch has a million.
 */
const pathLengthPerField = 64
const minPathLength = 1_000_000

interface Comparison {
  readonly operations: JsonPatchOperation[]
  readonly pending: Pair[]
  /** What is left for paths. Those of the pending pairs are already taken off. */
  pathLength: number
}

/** Lists that differ are replaced as a whole; so are objects for whose fields there is no length of paths left. */
export function toJsonPatch(before: Json, after: Json): JsonPatchOperation[] {
  const root: Pair = { place: undefined, old: before, now: after }
  const comparison: Comparison = { operations: [], pending: [root], pathLength: minPathLength }
  for (let pair = comparison.pending.pop(); pair !== undefined; pair = comparison.pending.pop()) {
    comparePair(comparison, pair)
  }
  return comparison.operations
}

function comparePair(comparison: Comparison, { place, old, now }: Pair): void {
  const length = place?.length ?? 0
  if (isPlainObject(old) && isPlainObject(now)) {
    const differing = differingKeys(old, now, length)
    const afterwards = comparison.pathLength + length + differing.allowance - differing.cost
    if (afterwards >= 0) {
      comparison.pathLength = afterwards
      for (const key of differing.keys)
        compareField(comparison, { parent: place, key, length: length + key.length + 1 }, { old, now })
      return
    }
  }
  if (isDeepEqual(old, now)) comparison.pathLength += length
  else comparison.operations.push({ op: 'replace', path: toPath(place), value: now })
}

type Fields = { [key: string]: Json }

interface DifferingKeys {
  readonly keys: readonly string[]
  /** The length of their paths together. */
  readonly cost: number
  /** What all keys, of both objects, pay for. */
  readonly allowance: number
}

/** In the order of the old object; then those that are new. */
function differingKeys(old: Fields, now: Fields, length: number): DifferingKeys {
  const all = [...Object.keys(old), ...Object.keys(now).filter((key) => !Object.hasOwn(old, key))]
  const keys = all.filter((key) => own(old, key) !== own(now, key))
  const cost = keys.reduce((sum, key) => sum + length + key.length + 1, 0)
  return { keys, cost, allowance: all.reduce((sum, key) => sum + key.length + pathLengthPerField, 0) }
}

function own(fields: Fields, key: string): Json | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

function compareField(
  { operations, pending }: Comparison,
  place: Place,
  { old, now }: { readonly old: Fields; readonly now: Fields },
): void {
  const [before, after] = [own(old, place.key), own(now, place.key)]
  if (after === undefined) operations.push({ op: 'remove', path: toPath(place) })
  else if (before === undefined) operations.push({ op: 'add', path: toPath(place), value: after })
  else pending.push({ place, old: before, now: after })
}

function toPath(place: Place | undefined): string {
  const parts: string[] = []
  for (let at = place; at !== undefined; at = at.parent) {
    parts.push(`/${at.key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  return parts.reverse().join('')
}
