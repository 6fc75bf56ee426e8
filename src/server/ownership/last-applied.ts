/**
 * Migration from client-side apply: objects with kubectl's last-applied annotation can be taken over by kubectl's server-side apply
 * without conflicts with itself, and the annotation is kept up to date. Other managers are not affected.
 */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { goJson } from '../../util/json/go-json.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { annotationErrors } from '../metadata.ts'
import { compareObjects } from './compare.ts'
import { difference, type FieldSet, has } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import type { Ownership } from './track.ts'
import { checkFields } from './validate.ts'
import { FieldTypeError } from './values.ts'

export const lastAppliedOwner = 'kubectl'
const annotation = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Returns a predicate for conflicts to ignore: fields that are unchanged since the last client-side apply. Undefined if there is no
 * usable annotation.
 */
export function agreedConflicts(
  ownership: Ownership,
  live: KubeObject,
): ((path: readonly string[]) => boolean) | undefined {
  const applied = readLastApplied(live)
  if (applied === undefined || applied['apiVersion'] !== ownership.apiVersion) return undefined
  try {
    const fields = unchangedFields(ownership, live, applied)
    return (path) => has(fields, path)
  } catch (error) {
    if (!(error instanceof FieldTypeError)) throw error
    return undefined
  }
}

function readLastApplied({ metadata }: KubeObject): JsonObject | undefined {
  const text = metadata.annotations?.[annotation]
  if (!text) return undefined
  try {
    const value = JSON.parse(text) as Json
    return isPlainObject(value) && value['kind'] ? value : undefined
  } catch {
    return undefined
  }
}

function unchangedFields({ type }: Ownership, live: KubeObject, applied: JsonObject): FieldSet {
  checkFields(type, live as unknown as Json)
  checkFields(type, applied)
  const { added, modified, removed } = compareObjects(type, applied as unknown as KubeObject, live)
  return [modified, added, removed].reduce(difference, fieldsOf(type, applied))
}

/** Updates the annotation, if present, to the applied configuration. */
export function refreshLastApplied(
  object: KubeObject,
  { config, manager }: { readonly config: JsonObject; readonly manager: string },
): KubeObject {
  if (manager !== lastAppliedOwner || !object.metadata.annotations?.[annotation]) return object
  const annotations: Record<string, string> = {
    ...object.metadata.annotations,
    [annotation]: `${goJson(withoutAnnotation(config))}\n`,
  }
  if (annotationErrors(annotations).some(({ type }) => type === 'FieldValueTooLong')) delete annotations[annotation]
  return { ...object, metadata: { ...object.metadata, annotations } }
}

function withoutAnnotation(config: JsonObject): JsonObject {
  const { metadata } = config
  if (!isPlainObject(metadata) || !isPlainObject(metadata['annotations'])) return config
  const { [annotation]: _, ...annotations } = metadata['annotations']
  return { ...config, metadata: { ...metadata, annotations } }
}
