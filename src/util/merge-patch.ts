/**
 * JSON merge patches (RFC 7386): a patch looks like the document, null removes a key, everything but objects is replaced
 * as a whole. Does not recurse, since a stranger decides the depth.
 */
import { cloneJson } from './equality.ts'
import { isPlainObject, type Json, setOwn } from './json.ts'

type Fields = { [key: string]: Json }

/** The patched document. Neither argument is changed, and the result shares nothing with them. */
export function applyMergePatch(target: Json, patch: Json): Json {
  if (!isPlainObject(patch)) return cloneJson(patch)
  const result: Fields = isPlainObject(target) ? cloneJson(target) : {}
  const pending: Array<[Fields, Fields]> = [[result, patch]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [fields, changes] = pair
    for (const key of Object.keys(changes)) mergeField(fields, key, changes[key]!, pending)
  }
  return result
}

function mergeField(fields: Fields, key: string, change: Json, pending: Array<[Fields, Fields]>): void {
  if (change === null) {
    delete fields[key]
  } else if (!isPlainObject(change)) {
    setOwn(fields, key, cloneJson(change))
  } else {
    // Merged into an empty object even where nothing was: the nulls of the patch must not get into the document.
    const current = Object.hasOwn(fields, key) ? fields[key] : undefined
    const inner: Fields = isPlainObject(current) ? current : {}
    if (inner !== current) setOwn(fields, key, inner)
    pending.push([inner, change])
  }
}
