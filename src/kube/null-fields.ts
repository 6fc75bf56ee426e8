/**
 * Go writes an empty list or map as null where a field has no `omitempty`: `items: null` of an empty list, `finalizers: null` in the
 * metadata. Null means the same as an absent field, but breaks code that iterates. Applied to every answer and every event of a
 * watch as it is parsed, so that no other code has to expect null in `items` and `metadata`.
 */
import { isPlainObject } from '../util/json.ts'
import type { JsonObject } from './objects.ts'

/** Changes the answer itself: an object, or a list of objects. */
export function dropNullFields(answer: JsonObject): JsonObject {
  dropNullMetadata(answer)
  if (typeof answer['kind'] !== 'string' || !answer['kind'].endsWith('List')) return answer
  const { items } = answer
  if (items === null) answer['items'] = []
  if (!Array.isArray(items)) return answer
  for (const item of items) if (isPlainObject(item)) dropNullMetadata(item)
  return answer
}

/**
 * Replaces the metadata only where there is a null: in most objects there is none. Large objects, which are kept as text and frozen, are
 * made without nulls by util/lazy-json.ts; to look into them here would parse them.
 */
function dropNullMetadata(object: JsonObject): void {
  if (Object.isFrozen(object)) return
  const { metadata } = object
  if (!isPlainObject(metadata) || !hasNull(metadata)) return
  object['metadata'] = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null))
}

function hasNull(fields: JsonObject): boolean {
  for (const key in fields) if (fields[key] === null) return true
  return false
}
