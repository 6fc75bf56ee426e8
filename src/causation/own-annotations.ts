/** Annotations that are records of operators and tools, and no part of the essence of an object. Pure. */
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath, withPath } from '../util/json/paths.ts'
import type { Essence, Json, JsonObject } from './cause.ts'

type AnnotationMap = { readonly [key: string]: Json }

/** The same without the annotations of which the predicate says so. */
export function withoutAnnotations(essence: Essence, isUnwanted: (key: string) => boolean): Essence {
  const annotations = resolvePath(essence, ['metadata', 'annotations'])
  if (!isPlainObject(annotations)) return essence
  const kept = filterKeys(annotations, (key) => !isUnwanted(key))
  return kept === annotations ? essence : withPath(essence, ['metadata', 'annotations'], kept)
}

/**
 * Without kubectl's record, and without those of operators built on Kopf or on this: operators that took each other's
 * records for changes would answer each other for ever, each time with a longer one.
 */
export function dropSystemAnnotations(annotations: AnnotationMap): JsonObject {
  const owned = findOwnedPrefixes(annotations)
  const isWanted = (key: string): boolean =>
    key !== 'kubectl.kubernetes.io/last-applied-configuration' && !(owned.size > 0 && owned.has(prefixOf(key) ?? ''))
  return filterKeys(annotations, isWanted) as JsonObject
}

/** Of operators built on Kopf or on this. */
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

/** The object itself where all its keys are wanted. */
function filterKeys(fields: AnnotationMap, isWanted: (key: string) => boolean): AnnotationMap {
  const keys = Object.keys(fields)
  const wanted = keys.filter(isWanted)
  return wanted.length === keys.length ? fields : Object.fromEntries(wanted.map((key) => [key, fields[key]!]))
}
