/** The JSON patch (RFC 6902) that turns one document into another: only add, remove and replace. Does not recurse. */
import { isDeepEqual } from './deep-equal.ts'
import { getOwn, isPlainObject, type Json } from './json.ts'

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }

/** A path as a linked list from its end; converted to text only for operations. */
interface PatchPath {
  readonly parent: PatchPath | undefined
  readonly key: string
  /** The approximate length of the path as text. */
  readonly length: number
}

interface PatchPair {
  readonly path: PatchPath | undefined
  readonly old: Json
  readonly now: Json
}

/**
 * The total length of the paths in one patch is limited: it grows with the square of the depth, and a long key is repeated for every
 * field below it. Each compared field adds an allowance, so that a patch stays in proportion to the documents; every patch has a
 * million characters in addition.
 */
const pathLengthPerField = 64
const minPathLength = 1_000_000

interface PatchWalk {
  readonly operations: JsonPatchOperation[]
  readonly pending: PatchPair[]
  /** The remaining length for paths, without the paths of the pending pairs. */
  pathLength: number
}

/**
 * The operations that turn `before` into `after`. Lists are replaced as a whole, and so are objects when the length for paths is used
 * up.
 */
export function toJsonPatch(before: Json, after: Json): JsonPatchOperation[] {
  const root: PatchPair = { path: undefined, old: before, now: after }
  const comparison: PatchWalk = { operations: [], pending: [root], pathLength: minPathLength }
  for (let pair = comparison.pending.pop(); pair !== undefined; pair = comparison.pending.pop()) {
    comparePair(comparison, pair)
  }
  return comparison.operations
}

function comparePair(comparison: PatchWalk, { path, old, now }: PatchPair): void {
  const length = path?.length ?? 0
  if (isPlainObject(old) && isPlainObject(now)) {
    const differing = differingKeys(old, now, length)
    const afterwards = comparison.pathLength + length + differing.allowance - differing.cost
    if (afterwards >= 0) {
      comparison.pathLength = afterwards
      for (const key of differing.keys)
        compareField(comparison, { parent: path, key, length: length + key.length + 1 }, { old, now })
      return
    }
  }
  if (isDeepEqual(old, now)) comparison.pathLength += length
  else comparison.operations.push({ op: 'replace', path: toPath(path), value: now })
}

type PatchFields = { [key: string]: Json }

interface DifferingKeys {
  readonly keys: readonly string[]
  /** The total length of their paths. */
  readonly cost: number
  /** The length that all keys of both objects add to the limit. */
  readonly allowance: number
}

/** Keys of the old object in their order, then new keys. */
function differingKeys(old: PatchFields, now: PatchFields, length: number): DifferingKeys {
  const all = [...Object.keys(old), ...Object.keys(now).filter((key) => !Object.hasOwn(old, key))]
  const keys = all.filter((key) => getOwn(old, key) !== getOwn(now, key))
  const cost = keys.reduce((sum, key) => sum + length + key.length + 1, 0)
  return { keys, cost, allowance: all.reduce((sum, key) => sum + key.length + pathLengthPerField, 0) }
}

function compareField(
  { operations, pending }: PatchWalk,
  path: PatchPath,
  { old, now }: { readonly old: PatchFields; readonly now: PatchFields },
): void {
  const [before, after] = [getOwn(old, path.key), getOwn(now, path.key)]
  if (after === undefined) operations.push({ op: 'remove', path: toPath(path) })
  else if (before === undefined) operations.push({ op: 'add', path: toPath(path), value: after })
  else pending.push({ path, old: before, now: after })
}

function toPath(path: PatchPath | undefined): string {
  const parts: string[] = []
  for (let at = path; at !== undefined; at = at.parent) {
    parts.push(`/${at.key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  return parts.reverse().join('')
}
