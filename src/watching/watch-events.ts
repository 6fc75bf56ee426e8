/**
 * What watching hands on, and the lines it makes it from. A line is looked at here once; what is in it is a stranger's,
 * so that whatever is not as the API promises becomes a reason in words, never an exception.
 */
import { dropNullFields, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { isPlainObject } from '../util/json/json.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { minLazyLength, parseEnvelope } from '../util/json/lazy-json.ts'

export type ReflectedEvent =
  /** The object is there, in this state. `event` is null where it was listed, at the start or after a gap. */
  | { readonly type: 'applied'; readonly event: null | 'ADDED' | 'MODIFIED'; readonly object: KubeObject }
  /**
   * The object is gone, or has left the selectors. `missed`: that was not seen but found out later, and of the object
   * there is only its name, uid and last version: whoever needs more has to remember it.
   */
  | { readonly type: 'deleted'; readonly object: KubeObject; readonly missed: boolean }
  /** A list is complete, as of this version. `rewound`: that is older than what had been seen, as after a restored backup. */
  | { readonly type: 'listed'; readonly version: string; readonly rewound: boolean }

export type WatchLine =
  | { readonly type: 'ADDED'; readonly object: KubeObject }
  | { readonly type: 'MODIFIED'; readonly object: KubeObject }
  | { readonly type: 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly version: string; readonly endsInitial: boolean }
  | { readonly type: 'ERROR'; readonly status: JsonObject }
  /** Not JSON: nobody knows what it would have said. */
  | { readonly type: 'malformed'; readonly problem: string }
  /** JSON, but nothing to go by. */
  | { readonly type: 'unusable'; readonly problem: string }

/** How large objects are read where the owners of fields are not needed. */
export const withoutManagedFields = { omit: ['managedFields'] } as const

/** Marks the bookmark at which the objects that were there have all been sent. */
const initialEndAnnotation = 'k8s.io/initial-events-end'

export function parseWatchLine(line: string, resource: Resource, keepsManagedFields: boolean = false): WatchLine {
  const parsed = tryParse(line, keepsManagedFields)
  if (!('value' in parsed)) return { type: 'malformed', problem: parsed.problem }
  const { value } = parsed
  if (!isPlainObject(value)) return { type: 'unusable', problem: `a watch event that is ${nameOf(value)}` }
  const { type, object } = value
  if (isPlainObject(object)) dropNullFields(object)
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    const problem = problemOf(object, resource)
    if (problem !== undefined) return { type: 'unusable', problem }
    return { type, object: keepsManagedFields ? (object as never) : dropManagedFields(object as never) }
  }
  if (type === 'BOOKMARK') return parseBookmark(object)
  if (type === 'ERROR') return { type, status: isPlainObject(object) ? object : {} }
  return { type: 'unusable', problem: `a watch event of the type ${quote(type)}` }
}

/** Why an object cannot be taken; undefined where it can. */
export function problemOf(object: unknown, resource: Resource): string | undefined {
  if (!isPlainObject(object)) return `an object that is ${nameOf(object)}`
  const { metadata } = object
  if (!isPlainObject(metadata)) return `an object without metadata, of the kind ${quote(object['kind'])}`
  if (typeof metadata['name'] !== 'string') return `an object without a name, of the kind ${quote(object['kind'])}`
  if (object['kind'] !== resource.kind) {
    return `the object ${quote(metadata['name'])} of the kind ${quote(object['kind'])}, not "${resource.kind}"`
  }
  if (!isTextOrAbsent(metadata['namespace']) || !isTextOrAbsent(metadata['resourceVersion'])) {
    return `the object ${quote(metadata['name'])} whose namespace or version is no text`
  }
  return undefined
}

/** Hardly anybody here needs them, and they are large. Copied, not deleted from: that would make a slow and large object of it. */
export function dropManagedFields(object: KubeObject): KubeObject {
  // Large objects come without them, and copying their metadata would parse it.
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  object.metadata = metadata
  return object
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function parseBookmark(object: unknown): WatchLine {
  const metadata = isPlainObject(object) ? object['metadata'] : undefined
  const version = isPlainObject(metadata) ? metadata['resourceVersion'] : undefined
  if (!isPlainObject(metadata) || typeof version !== 'string' || version === '') {
    return { type: 'unusable', problem: 'a bookmark without a version' }
  }
  const { annotations } = metadata
  const endsInitial = isPlainObject(annotations) && annotations[initialEndAnnotation] === 'true'
  return { type: 'BOOKMARK', version, endsInitial }
}

/** Objects that are large are kept as text: see util/json/lazy-json.ts. */
function tryParse(
  line: string,
  keepsManagedFields: boolean,
): { readonly value: unknown } | { readonly problem: string } {
  try {
    if (line.length < minLazyLength) return { value: parseJsonText(line) }
    return { value: parseEnvelope(line, keepsManagedFields ? {} : withoutManagedFields) }
  } catch {
    // The parser's message would quote the line, and that may be of a Secret.
    return { problem: `a line of ${line.length} characters that is not JSON` }
  }
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Cut: what a stranger wrote is not to fill the log. */
function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : nameOf(value)
}
