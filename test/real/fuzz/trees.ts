/** Merging trees whose keys may be anything, `__proto__` included. */
import type { Tree } from '../../support/answers.ts'

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** `merge` says what becomes of a key that both have; undefined takes it off. Changes neither. */
function combine(one: Tree, other: Tree, merge: (before: unknown, after: unknown) => unknown): Tree {
  const entries = new Map(Object.entries(one))
  for (const [key, value] of Object.entries(other)) {
    const merged = merge(entries.get(key), value)
    if (merged === undefined) entries.delete(key)
    else entries.set(key, merged)
  }
  return Object.fromEntries(entries)
}

/** The second into the first, trees key by key. */
export function mergeTrees(one: Tree, other: Tree): Tree {
  return combine(one, other, (before, after) => (isTree(before) && isTree(after) ? mergeTrees(before, after) : after))
}

/** As a merge patch does it: null takes off. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch
  return combine(isTree(target) ? target : {}, patch, (before, after) => {
    return after === null ? undefined : applyMergePatch(before, after)
  })
}
