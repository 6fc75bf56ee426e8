/**
 * JSON merge patches (RFC 7386): a patch looks like the document, null removes a key, everything but objects is replaced
 * as a whole. Does not recurse, since a stranger decides the depth.
 */
import { cloneJson, isDeepEqual } from './equality.ts'
import { isPlainObject, type Json, setOwn } from './json.ts'

type Fields = { [key: string]: Json }

/** The patched document. Neither argument is changed, and the result shares nothing with them. */
export function applyMergePatch(target: Json, patch: Json): Json {
  if (!isPlainObject(patch)) return cloneJson(patch)
  const result: Fields = isPlainObject(target) ? cloneJson(target) : {}
  mergeInPlace(result, patch)
  return result
}

/** The patched document. Neither argument is changed; the result shares with the target all that the patch does not name. */
export function withMergePatch(target: Fields, patch: Fields): Fields {
  const result = { ...target }
  merge(result, patch, (inner) => ({ ...inner }))
  return result
}

/** The same for a document that may be edited. */
export function mergeInPlace(document: Fields, patch: Fields): void {
  merge(document, patch, (inner) => inner)
}

/** `toEditable` returns the object, or a copy of it, that may be edited in place of an object inside of the document. */
function merge(document: Fields, patch: Fields, toEditable: (inner: Fields) => Fields): void {
  const pending: Array<[Fields, Fields]> = [[document, patch]]
  const enter = (fields: Fields, key: string, change: Fields) => {
    // Merged into an empty object even where nothing was: the nulls of the patch must not get into the document.
    const current = Object.hasOwn(fields, key) ? fields[key] : undefined
    const inner: Fields = isPlainObject(current) ? toEditable(current) : {}
    if (inner !== current) setOwn(fields, key, inner)
    pending.push([inner, change])
  }
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [fields, changes] = pair
    for (const key of Object.keys(changes)) mergeField(fields, key, changes[key]!, enter)
  }
}

function mergeField(
  fields: Fields,
  key: string,
  change: Json,
  enter: (fields: Fields, key: string, change: Fields) => void,
): void {
  if (change === null) {
    delete fields[key]
  } else if (!isPlainObject(change)) {
    setOwn(fields, key, cloneJson(change))
  } else {
    enter(fields, key, change)
  }
}

/** Whether a patch would change the document at all; looks only at what the patch names. */
export function changesAnything(target: Json, patch: Json): boolean {
  const pending: Array<readonly [Json | undefined, Json]> = [[target, patch]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [current, change] = pair
    if (!isPlainObject(change)) {
      if (!isDeepEqual(current, change)) return true
    } else if (!isPlainObject(current)) {
      // Removals of what is not there are nothing, however deep they are; an empty object is meant to be there.
      if (current !== undefined || Object.keys(change).length === 0) return true
      pending.push([{}, change])
    } else {
      for (const key of Object.keys(change)) {
        const inner = change[key]!
        if (inner !== null) pending.push([Object.hasOwn(current, key) ? current[key] : undefined, inner])
        else if (Object.hasOwn(current, key)) return true
      }
    }
  }
  return false
}

/** As much of a document as a patch names: all that it can change. What is not looked into is shared. */
export function pickNamed(target: Fields, patch: Fields): Fields {
  const picked: Fields = {}
  const pending: Array<readonly [Fields, Fields, Fields]> = [[target, patch, picked]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [fields, changes, into] = next
    for (const key of Object.keys(changes)) {
      if (!Object.hasOwn(fields, key)) continue
      const [inner, change] = [fields[key]!, changes[key]!]
      const isEntered = isPlainObject(inner) && isPlainObject(change)
      setOwn(into, key, isEntered ? {} : inner)
      if (isEntered) pending.push([inner, change, into[key] as Fields])
    }
  }
  return picked
}

/** The same patch without removals of what is not there: merged, they would leave empty objects behind. */
export function withoutIdleRemovals(target: Json, patch: Json): Json {
  const result = cloneJson(patch)
  const removing = findRemoving(result)
  const pending: Array<readonly [Json | undefined, Json]> = [[target, result]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [current, change] = pair
    if (!isPlainObject(change)) continue
    for (const key of Object.keys(change)) {
      const inner = isPlainObject(current) && Object.hasOwn(current, key) ? current[key] : undefined
      if (inner === undefined && isIdle(change[key]!, removing)) delete change[key]
      else pending.push([inner, change[key]!])
    }
  }
  return result
}

/** Whether it does nothing to a field that is not there. */
function isIdle(change: Json, removing: ReadonlySet<Json>): boolean {
  return change === null || removing.has(change)
}

/** The objects in a patch that hold nothing but removals, at any depth; each is looked at once, the inner ones first. */
function findRemoving(patch: Json): ReadonlySet<Json> {
  const objects: Fields[] = []
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
