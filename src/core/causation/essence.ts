/**
 * The part of a body that counts: what differs in it is a change, what differs elsewhere is not. Called once per event, by
 * the diff-base storages. The essence shares with the body whatever it can, and never changes it.
 */
import { isPlainObject } from '../../util/json.ts'
import { parsePath, resolvePath, withoutPath, withPath } from '../../util/paths.ts'
import { dropSystemAnnotations } from './annotations.ts'
import type { Essence, Json, JsonObject } from './causes.ts'
import { concealSecret } from './secrets.ts'

type FieldPath = string | readonly string[]

export interface EssenceOptions {
  /** Fields that count although they are in the status or in system metadata: those that handlers have asked for. */
  readonly extraFields?: Iterable<FieldPath> | undefined
  /** Fields that do not count although they are elsewhere. */
  readonly ignoredFields?: Iterable<FieldPath> | undefined
}

const systemFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status'])

/** The order of the steps is Kopf's: extra fields come back whole, and ignored fields win over them. */
export function buildEssence(body: object, { extraFields = [], ignoredFields = [] }: EssenceOptions = {}): Essence {
  let essence: Essence = Object.fromEntries(Object.entries(body).filter(([key]) => !systemFields.has(key)))
  const metadata = pickMetadata(body)
  if (metadata !== undefined) essence = { ...essence, metadata }
  for (const field of extraFields) {
    const path = parsePath(field)
    const value = resolvePath(body, path)
    if (value !== undefined && path.length > 0) essence = withPath(essence, path, value)
  }
  essence = withoutEmptyStanzas(essence)
  for (const field of ignoredFields) essence = withoutPath(essence, parsePath(field))
  return concealSecret(essence, body)
}

/** The same without empty labels, annotations, metadata and status: it is no change when they come or go. */
export function withoutEmptyStanzas(essence: Essence): Essence {
  let result = essence
  for (const path of [['metadata', 'annotations'], ['metadata', 'labels'], ['metadata'], ['status']]) {
    const value = resolvePath(result, path)
    if (value !== undefined && isHollow(value)) result = withoutPath(result, path)
  }
  return result
}

function isHollow(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return !value
  return Object.keys(value).length === 0
}

function pickMetadata(body: object): JsonObject | undefined {
  const metadata = resolvePath(body, ['metadata'])
  if (!isPlainObject(metadata)) return undefined
  const picked: JsonObject = {}
  if (isFilled(metadata['labels'])) picked['labels'] = metadata['labels']
  if (isFilled(metadata['annotations'])) picked['annotations'] = dropSystemAnnotations(metadata['annotations'])
  return Object.keys(picked).length > 0 ? picked : undefined
}

function isFilled(value: Json | undefined): value is JsonObject {
  return isPlainObject(value) && Object.keys(value).length > 0
}
