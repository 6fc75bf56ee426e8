/**
 * Which handler has set which field of a collected patch. Warnings about dropped fields and errors about invalid values name the handler by it. Filled by
 * handlers/results.ts, read by objects/writes.ts. Pure.
 */
import { ApiError } from '../client/api-error.ts'
import type { JsonObject } from '../kube/objects.ts'
import { getString, isPlainObject, type Json } from '../util/json/json.ts'
import { mergeInto } from './patch.ts'

/** The part of one handler in a collected patch. */
export interface PatchAuthor {
  readonly merge: JsonObject
  readonly hasFunctions: boolean
  /** Whether `status.<id>` has the value that the handler has returned. */
  readonly hasResult: boolean
}

/** By the id of the handler, in the order of the last changes. */
export type PatchAuthors = Map<string, PatchAuthor>

/** Adds the changes of a handler. Several parts of the same handler become one, so that patches which wait for long do not grow. */
export function addAuthor(authors: PatchAuthors, id: string, part: PatchAuthor): void {
  const before = authors.get(id)
  if (before === undefined) {
    if (part.hasFunctions || Object.keys(part.merge).length > 0) authors.set(id, part)
    return
  }
  // A copy: the parts belong to their callers, too.
  const merge: JsonObject = {}
  for (const one of [before.merge, part.merge]) mergeInto(merge, one)
  // The later handler wins a field: the order is that of the last changes.
  authors.delete(id)
  authors.set(id, {
    merge,
    hasFunctions: before.hasFunctions || part.hasFunctions,
    hasResult: before.hasResult || part.hasResult,
  })
}

export function addAuthors(authors: PatchAuthors, added: ReadonlyMap<string, PatchAuthor>): void {
  for (const [id, part] of added) addAuthor(authors, id, part)
}

/** The origin of a field: the result of a handler, its merge patch, or one of the functions in its patch. */
export interface FieldOrigin {
  readonly id: string
  readonly type: 'result' | 'merge' | 'function'
}

/** The handler that has set the field last; undefined if the framework has set it. A field of unknown origin may come from a function of a patch. */
export function findOrigin(authors: ReadonlyMap<string, PatchAuthor>, field: string): FieldOrigin | undefined {
  const latestFirst = [...authors].toReversed()
  const found = latestFirst.find(([, { merge }]) => contains(merge, field))
  if (found !== undefined) return { id: found[0], type: isResult(found, field) ? 'result' : 'merge' }
  const functions = latestFirst.find(([, { hasFunctions }]) => hasFunctions)
  return functions && { id: functions[0], type: 'function' }
}

function isResult([id, { hasResult }]: readonly [string, PatchAuthor], field: string): boolean {
  return hasResult && startsWithKey(field, `status.${id}`)
}

/**
 * Whether the patch sets the field, or a field above or below it. Keys may contain dots (`example.com/name`), so that the keys of the patch are
 * compared with the field, rather than parts of the field with keys.
 */
function contains(patch: JsonObject, field: string): boolean {
  let node: Json = patch
  let rest = field
  while (rest !== '' && isPlainObject(node)) {
    const key: string | undefined = findKey(Object.keys(node), rest)
    if (key === undefined) return false
    node = node[key]!
    rest = rest.startsWith('[') ? rest.slice(key.length + 2) : rest.slice(key.length)
    if (rest.startsWith('.')) rest = rest.slice(1)
  }
  return true
}

/** The longest key at the beginning of the field: one key may be the beginning of another. */
function findKey(keys: readonly string[], field: string): string | undefined {
  const matching = keys.filter((key) => startsWithKey(field, key) || field.startsWith(`[${key}]`))
  return matching.reduce<string | undefined>((best, key) => (key.length > (best?.length ?? -1) ? key : best), undefined)
}

function startsWithKey(field: string, key: string): boolean {
  return field.startsWith(key) && ['', '.', '['].includes(field.charAt(key.length))
}

/** Limits of an error message; the API server may list thousands of invalid fields. */
const maxCauses = 5
const maxCauseLength = 500

/**
 * Adds to the error of a refused write (422) which handler has set each invalid field. Returns the error unchanged if it names no field.
 * `target`: `the status of default/web`.
 */
export function explainRefusal(error: ApiError, target: string, authors: ReadonlyMap<string, PatchAuthor>): ApiError {
  const { causes } = error.details
  // By text: the API server may give the same cause several times.
  const invalid = new Map<string, string>()
  for (const cause of Array.isArray(causes) ? causes : []) {
    const field = isPlainObject(cause) && getString(cause, 'field')
    if (field) invalid.set(`${field}: ${getString(cause, 'message') ?? ''}`, field)
  }
  if (invalid.size === 0) return error
  // Sorted: the API server gives the causes in any order.
  const sorted = [...invalid].sort(([a], [b]) => (a < b ? -1 : 1))
  const named = sorted.slice(0, maxCauses).map(([text, field]) => {
    const shown = text.length > maxCauseLength ? `${text.slice(0, maxCauseLength - 1)}…` : text
    return `${shown}${describeOrigin(findOrigin(authors, field), field)}`
  })
  const more = invalid.size - named.length
  const { method, path, status, reason, details, retryAfterMs } = error
  const explained = new ApiError({ method, path, status, reason, details, retryAfterMs }, { cause: error })
  explained.message = `Cannot write ${target}: the API server refuses it (${status} ${reason}): ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
  return explained
}

function describeOrigin(origin: FieldOrigin | undefined, field: string): string {
  switch (origin?.type) {
    case 'result':
      return ` (returned by handler "${origin.id}")`
    case 'merge':
      return ` (set by handler "${origin.id}": patch.${field})`
    case 'function':
      return ` (probably set by a function in patch.fns of handler "${origin.id}")`
    case undefined:
      return ''
  }
}
