/** The changes of one write to an object, with the handler that has set each field. Pure. */
import type { KubeObject } from '../kube/objects.ts'
import type { ObservedAuthor } from '../observer.ts'
import { findOrigin } from '../patching/patch-authors.ts'
import type { FieldChange } from './entries.ts'
import { compareStates, type FieldChanges } from './field-changes.ts'

/** The author of an object may cause thousands of sub-handlers: then no author is searched. */
const maxAuthors = 50

type Authors = ReadonlyMap<string, ObservedAuthor>

export function compareWrites(
  writes: ReadonlyArray<{ readonly before: KubeObject; readonly after: KubeObject }>,
  authors: Authors,
): FieldChanges {
  const changes: FieldChange[] = []
  let moreChanges = 0
  for (const { before, after } of writes) {
    const compared = compareStates(before, after, { isExpanded: true })
    for (const change of compared.changes) changes.push(withAuthor(change, authors))
    moreChanges += compared.moreChanges
  }
  return { changes, moreChanges }
}

/** Whether a write adds or removes a finalizer, and changes nothing else. Finalizers that a handler sets are its results. */
export function isFinalizerOnly({ changes, moreChanges }: FieldChanges): boolean {
  const isFinalizer = ({ path, by }: FieldChange) => /^metadata\.finalizers(\[|$)/.test(path) && by === undefined
  return changes.length > 0 && moreChanges === 0 && changes.every(isFinalizer)
}

function withAuthor(change: FieldChange, authors: Authors): FieldChange {
  if (authors.size === 0 || authors.size > maxAuthors) return change
  const by = findAuthor(change.path, authors)
  return by === undefined ? change : { ...change, by }
}

function findAuthor(path: string, authors: Authors): string | undefined {
  // Patches have no list items: the author of a list is the author of its items. `["key"]` is `[key]` in the paths of patches.
  const field = path.replaceAll('"', '')
  const origin = findOrigin(authors, field)
  // A function may have set any field, also one of the framework: the handler is named only if the function is the one that can have.
  if (origin?.type !== 'function') return origin?.id
  const hasFunctions = [...authors.values()].filter((author) => author.hasFunctions)
  return hasFunctions.length === 1 && /^(spec|status)\b/.test(field) ? origin.id : undefined
}
