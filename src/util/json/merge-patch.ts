/**
 * JSON merge patches (RFC 7386): null removes a key, objects are merged, other values are replaced. Does not recurse, since documents
 * may have 10,000 levels.
 */
import { cloneJson, isDeepEqual } from './deep-equal.ts'
import { getOwn, isPlainObject, type Json, setOwn } from './json.ts'

type MergeFields = { [key: string]: Json }

/** The patched document. Changes neither argument, and shares nothing with them. */
export function applyMergePatch(target: Json, patch: Json): Json {
  if (!isPlainObject(patch)) return cloneJson(patch)
  const result: MergeFields = isPlainObject(target) ? cloneJson(target) : {}
  mergeInPlace(result, patch)
  return result
}

/** The patched document. Changes neither argument; the result shares the parts of the target that the patch does not name. */
export function withMergePatch(target: MergeFields, patch: MergeFields): MergeFields {
  const result = { ...target }
  merge(result, patch, (inner) => ({ ...inner }))
  return result
}

/** Patches a mutable document in place. */
export function mergeInPlace(document: MergeFields, patch: MergeFields): void {
  merge(document, patch, (inner) => inner)
}

/** `toEditable` returns an object inside the document that may be edited: the object itself or a copy. */
function merge(document: MergeFields, patch: MergeFields, toEditable: (inner: MergeFields) => MergeFields): void {
  const pending: Array<[MergeFields, MergeFields]> = [[document, patch]]
  const enter = (fields: MergeFields, key: string, change: MergeFields) => {
    // A missing object is merged into an empty one, so that nulls of the patch do not get into the document.
    const current = getOwn(fields, key)
    const inner: MergeFields = isPlainObject(current) ? toEditable(current) : {}
    if (inner !== current) setOwn(fields, key, inner)
    pending.push([inner, change])
  }
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [fields, changes] = pair
    for (const key of Object.keys(changes)) mergeField(fields, key, changes[key]!, enter)
  }
}

function mergeField(
  fields: MergeFields,
  key: string,
  change: Json,
  enter: (fields: MergeFields, key: string, change: MergeFields) => void,
): void {
  if (change === null) {
    delete fields[key]
  } else if (!isPlainObject(change)) {
    setOwn(fields, key, cloneJson(change))
  } else {
    enter(fields, key, change)
  }
}

/** Whether a patch would change the document. Reads only the fields that the patch names. */
export function changesAnything(target: Json, patch: Json): boolean {
  const pending: Array<readonly [Json | undefined, Json]> = [[target, patch]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [current, change] = pair
    if (!isPlainObject(change)) {
      if (!isDeepEqual(current, change)) return true
    } else if (!isPlainObject(current)) {
      // Removals of missing fields change nothing at any depth; an empty object is added.
      if (current !== undefined || Object.keys(change).length === 0) return true
      pending.push([{}, change])
    } else {
      for (const key of Object.keys(change)) {
        const inner = change[key]!
        if (inner !== null) pending.push([getOwn(current, key), inner])
        else if (Object.hasOwn(current, key)) return true
      }
    }
  }
  return false
}

/** The part of a document that a patch names, and thus may change. Values are shared with the document. */
export function pickNamed(target: MergeFields, patch: MergeFields): MergeFields {
  const picked: MergeFields = {}
  const pending: Array<readonly [MergeFields, MergeFields, MergeFields]> = [[target, patch, picked]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [fields, changes, into] = next
    for (const key of Object.keys(changes)) {
      if (!Object.hasOwn(fields, key)) continue
      const [inner, change] = [fields[key]!, changes[key]!]
      const isEntered = isPlainObject(inner) && isPlainObject(change)
      setOwn(into, key, isEntered ? {} : inner)
      if (isEntered) pending.push([inner, change, into[key] as MergeFields])
    }
  }
  return picked
}

/** The patch without removals of missing fields, which would leave empty objects in the document. */
export function withoutIdleRemovals(target: Json, patch: Json): Json {
  const result = cloneJson(patch)
  const removing = findRemoving(result)
  const pending: Array<readonly [Json | undefined, Json]> = [[target, result]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [current, change] = pair
    if (!isPlainObject(change)) continue
    for (const key of Object.keys(change)) {
      const inner = isPlainObject(current) ? getOwn(current, key) : undefined
      if (inner === undefined && isIdle(change[key]!, removing)) delete change[key]
      else pending.push([inner, change[key]!])
    }
  }
  return result
}

/** Whether the change has no effect on a missing field. */
function isIdle(change: Json, removing: ReadonlySet<Json>): boolean {
  return change === null || removing.has(change)
}

/** The objects of a patch that contain only removals, at any depth. Visits inner objects first. */
function findRemoving(patch: Json): ReadonlySet<Json> {
  const objects: MergeFields[] = []
  const pending: Json[] = [patch]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isPlainObject(next)) continue
    objects.push(next)
    for (const key of Object.keys(next)) pending.push(next[key]!)
  }
  const removing = new Set<Json>()
  for (const fields of objects.reverse()) {
    const keys = Object.keys(fields)
    if (keys.length > 0 && keys.every((key) => isIdle(fields[key]!, removing))) removing.add(fields)
  }
  return removing
}
