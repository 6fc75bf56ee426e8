/** Identifies annotations that are records of operators and of kubectl, and removes them from essences. Pure. */
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath, withPath } from '../util/json/paths.ts'
import type { Essence, Json, JsonObject } from './cause.ts'

type AnnotationMap = { readonly [key: string]: Json }

/** Removes the annotations whose keys match the predicate. */
export function withoutAnnotations(essence: Essence, isRemoved: (key: string) => boolean): Essence {
  const annotations = resolvePath(essence, ['metadata', 'annotations'])
  if (!isPlainObject(annotations)) return essence
  const kept = filterKeys(annotations, (key) => !isRemoved(key))
  return kept === annotations ? essence : withPath(essence, ['metadata', 'annotations'], kept)
}

/**
 * Removes kubectl's last-applied annotation and the annotations of all operators built on Kopf or on this framework. Otherwise
 * two operators would react to each other's records in an endless loop, with growing records.
 */
export function dropSystemAnnotations(annotations: AnnotationMap): JsonObject {
  const owned = findOwnedPrefixes(annotations)
  const isKept = (key: string): boolean =>
    key !== 'kubectl.kubernetes.io/last-applied-configuration' && !(owned.size > 0 && owned.has(prefixOf(key) ?? ''))
  return filterKeys(annotations, isKept) as JsonObject
}

/** The annotation prefixes of operators built on Kopf or on this framework. */
export function findOwnedPrefixes(annotations: AnnotationMap): Set<string> {
  const prefixes = new Set<string>()
  for (const key of Object.keys(annotations)) {
    const prefix = prefixOf(key)
    if (prefix === undefined) continue
    const isMarker = key.slice(prefix.length) === '/kopf-managed'
    if (isMarker || prefix === 'kopf.zalando.org' || prefix.endsWith('.kopf.zalando.org')) prefixes.add(prefix)
  }
  return prefixes
}

function prefixOf(key: string): string | undefined {
  const slash = key.indexOf('/')
  return slash < 0 ? undefined : key.slice(0, slash)
}

/** Returns the same object if no key is removed. */
function filterKeys(fields: AnnotationMap, isKept: (key: string) => boolean): AnnotationMap {
  const keys = Object.keys(fields)
  const kept = keys.filter(isKept)
  return kept.length === keys.length ? fields : Object.fromEntries(kept.map((key) => [key, fields[key]!]))
}
