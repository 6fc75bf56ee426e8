/** The items of a diff: arrays of four, as in Kopf, that can also be read by name. */
import type { DiffItem, DiffTuple } from './cause.ts'

/** The names are not enumerable: comparisons, JSON and logs treat the item as a plain array. */
export function createDiffItem(...tuple: DiffTuple): DiffItem {
  const [op, path, old, current] = tuple
  return Object.defineProperties(tuple, {
    op: { value: op },
    path: { value: path },
    old: { value: old },
    new: { value: current },
  }) as unknown as DiffItem
}

/** Adds the names again to items that were copied to another thread: a copy has only the enumerable properties. */
export function restoreDiffItems(diff: unknown): unknown {
  return Array.isArray(diff) ? diff.map((item) => createDiffItem(...(item as DiffTuple))) : diff
}
