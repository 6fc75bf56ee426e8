/**
 * Functions shared by the storages: reading annotations from the body, writing them to the patch, the marker annotation, the size limit of
 * annotations, and the paths of fields in the status.
 */
import type { JsonObject } from '../kube/objects.ts'
import { getOwn, isPlainObject } from '../util/json/json.ts'
import { parseJsonText } from '../util/json/json-text.ts'
import { ensurePath, parsePath, removePath, resolvePath } from '../util/json/paths.ts'

type Annotations = { readonly [key: string]: unknown }

function annotationsOf(holder: object): Annotations {
  const annotations = resolvePath(holder, ['metadata', 'annotations'])
  return isPlainObject(annotations) ? annotations : {}
}

export function readAnnotation(body: object, key: string): string | undefined {
  const value = getOwn(annotationsOf(body), key)
  return typeof value === 'string' ? value : undefined
}

export function writeAnnotation(patch: JsonObject, key: string, value: string | null): void {
  ensurePath(patch, ['metadata', 'annotations', key], value)
}

/** Removes the annotation from the patch, so that it stays unchanged on the object. */
export function dropPending(patch: JsonObject, key: string): void {
  removePath(patch, ['metadata', 'annotations', key])
}

/** Removes an annotation from the object, and from the patch if it is not on the object. */
export function purgeAnnotation(body: object, patch: JsonObject, key: string): void {
  if (Object.hasOwn(annotationsOf(body), key)) writeAnnotation(patch, key, null)
  else dropPending(patch, key)
}

/**
 * Marks the prefix as one of an operator, so that other operators ignore its annotations. As in Kopf, prefixes that begin with `kopf.` need
 * no marker.
 */
export function markPrefix(body: object, patch: JsonObject, prefix: string): void {
  if (prefix.startsWith('kopf.')) return
  const marker = `${prefix}/kopf-managed`
  if (Object.hasOwn(annotationsOf(body), marker) || Object.hasOwn(annotationsOf(patch), marker)) return
  writeAnnotation(patch, marker, 'yes')
}

/** Parses a stored JSON object. Returns undefined for anything else: users may have edited the text, which is not an error. */
export function parseStored(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value = parseJsonText(text)
    return isPlainObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Kubernetes' limit for the keys and values of all annotations of an object together, in bytes (`TotalAnnotationSizeLimitB`). */
export const annotationsLimit: number = 262_144

/** Bytes that stay free for the progress of handlers: without them, the object could not be handled at all. */
const reservedBytes = 16_384

/** The number of bytes that are available for annotations with these keys when the patch is applied. */
export function availableBytes(body: object, patch: JsonObject, keys: readonly string[]): number {
  const annotations = { ...annotationsOf(body), ...annotationsOf(patch) }
  let used = 0
  for (const key of Object.keys(annotations)) {
    const value = annotations[key]
    if (typeof value === 'string' && !keys.includes(key)) used += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  return annotationsLimit - reservedBytes - used
}

/** The size of these annotations in bytes, all with the same text. */
export function measureAnnotations(keys: readonly string[], text: string): number {
  return keys.reduce((sum, key) => sum + Buffer.byteLength(key) + Buffer.byteLength(text), 0)
}

/** A path in the status: a dotted string, in which `{name}` is replaced by the name of the storage, or an array of keys. */
export type StatusFieldPath = string | readonly string[]

export function toStatusPath(field: StatusFieldPath, name: string): readonly string[] {
  return parsePath(typeof field === 'string' ? field.replaceAll('{name}', () => name) : field)
}
