/** Merges JSON trees with any keys, including `__proto__`. */
import type { Tree } from '../../../support/answers.ts'

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a new tree. `merge` gives the value of a key of the second tree; undefined removes the key. */
function combine(one: Tree, other: Tree, merge: (before: unknown, after: unknown) => unknown): Tree {
  const entries = new Map(Object.entries(one))
  for (const [key, value] of Object.entries(other)) {
    const merged = merge(entries.get(key), value)
    if (merged === undefined) entries.delete(key)
    else entries.set(key, merged)
  }
  return Object.fromEntries(entries)
}

/** Merges the second tree into the first, key by key. */
export function mergeTrees(one: Tree, other: Tree): Tree {
  return combine(one, other, (before, after) => (isTree(before) && isTree(after) ? mergeTrees(before, after) : after))
}

/** Applies a merge patch: null removes a key. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch
  return combine(isTree(target) ? target : {}, patch, (before, after) => {
    return after === null ? undefined : applyMergePatch(before, after)
  })
}
