/**
 * The events that a reflector delivers, and the parser of watch lines. Data from the server is not trusted: a line that violates
 * the API conventions becomes a description of the problem, never an exception.
 */
import { dropManagedFields, dropNullFields, type JsonObject, type KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { isPlainObject } from '../util/json/json.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { minLazyLength, parseEnvelope } from '../util/json/lazy-json.ts'

export type ReflectedEvent =
  /** The object exists in this state. `event` is null for an object of a list (at the start or after a gap). */
  | { readonly type: 'applied'; readonly event: null | 'ADDED' | 'MODIFIED'; readonly object: KubeObject }
  /**
   * The object was deleted, or no longer matches the selectors. `missed`: the deletion was detected later, and `object` has only
   * the name, namespace, uid and last version.
   */
  | { readonly type: 'deleted'; readonly object: KubeObject; readonly missed: boolean }
  /**
   * A list of this version is complete. `rewound`: the version is older than versions seen before, for example after a restored
   * backup.
   */
  | { readonly type: 'listed'; readonly version: string; readonly rewound: boolean }

export type WatchLine =
  | { readonly type: 'ADDED'; readonly object: KubeObject }
  | { readonly type: 'MODIFIED'; readonly object: KubeObject }
  | { readonly type: 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly version: string; readonly endsInitial: boolean }
  | { readonly type: 'ERROR'; readonly status: JsonObject }
  /** The line is not JSON. */
  | { readonly type: 'malformed'; readonly problem: string }
  /** The line is JSON, but not a valid watch event. */
  | { readonly type: 'unusable'; readonly problem: string }

/** Parse options that omit managed fields of large objects. */
export const withoutManagedFields = { omit: ['managedFields'] } as const

/** The annotation of the bookmark that follows the initial objects. */
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

/** Returns why an object cannot be used; undefined if it can. */
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

/** Parses a line. Large objects are kept as text and parsed on access: see util/json/lazy-json.ts. */
function tryParse(
  line: string,
  keepsManagedFields: boolean,
): { readonly value: unknown } | { readonly problem: string } {
  try {
    if (line.length < minLazyLength) return { value: parseJsonText(line) }
    return { value: parseEnvelope(line, keepsManagedFields ? {} : withoutManagedFields) }
  } catch {
    // The parser's message would quote the line, which may contain a Secret.
    return { problem: `a line of ${line.length} characters that is not JSON` }
  }
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Quotes a value in a message, shortened so that untrusted data cannot fill the log. */
function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : nameOf(value)
}
