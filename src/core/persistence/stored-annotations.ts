/** What the storages in annotations have in common: reading from the body, writing to the patch, the marker, the limit. */
import type { JsonObject } from '../../kube/objects.ts'
import { getOwn, isPlainObject } from '../../util/json.ts'
import { parseJsonText } from '../../util/json-text.ts'
import { ensurePath, removePath, resolvePath } from '../../util/paths.ts'

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

/** Leaves the annotation as it is on the body. */
export function dropPending(patch: JsonObject, key: string): void {
  removePath(patch, ['metadata', 'annotations', key])
}

/** Nothing of it remains: neither on the object nor on its way there. */
export function purgeAnnotation(body: object, patch: JsonObject, key: string): void {
  if (Object.hasOwn(annotationsOf(body), key)) writeAnnotation(patch, key, null)
  else dropPending(patch, key)
}

/** Tells other operators that the annotations under this prefix are records. As in Kopf, not for those that begin with `kopf.`. */
export function markPrefix(body: object, patch: JsonObject, prefix: string): void {
  if (prefix.startsWith('kopf.')) return
  const marker = `${prefix}/kopf-managed`
  if (Object.hasOwn(annotationsOf(body), marker) || Object.hasOwn(annotationsOf(patch), marker)) return
  writeAnnotation(patch, marker, 'yes')
}

/** The object that a stored text says; undefined for anything else. Anybody may have edited it: that is never an error. */
export function parseStored(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const value = parseJsonText(text)
    return isPlainObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Kubernetes' limit for the keys and values of all annotations of an object together, in bytes. */
export const annotationsLimit: number = 262_144

/** Kept free for the progress of handlers: an object that has no room for it could not be handled at all. */
const reserved = 16_384

/** How many bytes there are for annotations with these keys, once the patch is applied. */
export function measureRoom(body: object, patch: JsonObject, keys: readonly string[]): number {
  const annotations = { ...annotationsOf(body), ...annotationsOf(patch) }
  let used = 0
  for (const key of Object.keys(annotations)) {
    const value = annotations[key]
    if (typeof value === 'string' && !keys.includes(key)) used += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  return annotationsLimit - reserved - used
}

/** What these annotations would take, each with the same text. */
export function measureAnnotations(keys: readonly string[], text: string): number {
  return keys.reduce((sum, key) => sum + Buffer.byteLength(key) + Buffer.byteLength(text), 0)
}
