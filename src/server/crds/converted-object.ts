/**
 * Checks an object returned by a conversion webhook against the original and restores its metadata: a webhook can only change
 * labels and annotations. Throws Errors with the real server's messages. Pure; called by webhook-conversion.ts.
 */
import { type JsonObject, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../util/json/deep-equal.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { toJsonText } from '../../util/json/json-text.ts'
import { mismatch } from '../decode.ts'
import { type FieldError, formatFieldErrors } from '../field-errors.ts'
import { annotationErrors, labelErrors } from '../metadata.ts'
import { goTypeOf } from './go-types.ts'

interface ConvertedObjectOptions {
  readonly original: KubeObject
  readonly desiredAPIVersion: string
  /** Start of the message: `conversion webhook for example.com/v1, Kind=Widget`. */
  readonly subject: string
  /** Index of the object in its review. */
  readonly index: number
}

export function restoreObject(
  converted: unknown,
  { original, desiredAPIVersion, subject, index }: ConvertedObjectOptions,
): KubeObject {
  const object = readObject(converted)
  const { apiVersion = '', kind } = object
  const wrong = `${subject} returned invalid object at index ${index}: invalid`
  if (apiVersion !== desiredAPIVersion) {
    throw new Error(`${wrong} groupVersion (expected ${desiredAPIVersion}, received ${String(apiVersion)})`)
  }
  if (kind !== original.kind) throw new Error(`${wrong} kind (expected ${original.kind}, received ${String(kind)})`)
  checkIdentity(object, original, subject)
  try {
    return { ...object, metadata: restoreMetadata(object['metadata'], original) } as unknown as KubeObject
  } catch (error) {
    throw new Error(`${subject} returned invalid metadata: ${(error as Error).message}`)
  }
}

function readObject(converted: unknown): JsonObject {
  if (converted === null) throw new Error('unexpected end of JSON input')
  if (!isPlainObject(converted)) {
    throw new Error(mismatch(converted, 'value of type map[string]interface {}'))
  }
  const { apiVersion = '', kind } = converted
  const isNamed = typeof kind === 'string' && kind !== '' && typeof apiVersion === 'string'
  // An invalid apiVersion is reported as a missing kind.
  if (!isNamed || (apiVersion !== '' && parseGroupVersion(apiVersion) === undefined)) {
    throw new Error(`Object 'Kind' is missing in '${toJsonText(converted)}'`)
  }
  return converted
}

function checkIdentity({ metadata }: JsonObject, original: KubeObject, subject: string): void {
  for (const [key, word] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const expected = original.metadata[key] ?? ''
    const value = isPlainObject(metadata) ? metadata[key] : undefined
    const got = typeof value === 'string' ? value : ''
    if (got !== expected) {
      throw new Error(`${subject} returned invalid object: must have the same ${word}: ${expected} != ${got}`)
    }
  }
}

function restoreMetadata(given: unknown, { metadata }: KubeObject): KubeObject['metadata'] {
  if (given === undefined) throw new Error('missing metadata in converted object')
  if (!isPlainObject(given)) throw new Error(`invalid metadata of type ${goTypeOf(given)} in converted object`)
  const restored = cloneJson(metadata)
  for (const key of ['labels', 'annotations'] as const) {
    const texts = given[key] ?? undefined
    if (texts === undefined) delete restored[key]
    else restored[key] = checkTexts(key, texts, metadata[key])
  }
  return restored
}

/** Validates changed labels and annotations only: unchanged ones may be older than the current validation. */
function checkTexts(
  key: 'labels' | 'annotations',
  texts: unknown,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (!isPlainObject(texts)) throw new Error(`invalid metadata.${key} of type ${goTypeOf(texts)} in converted object`)
  for (const [name, value] of Object.entries(texts)) {
    if (typeof value === 'string') continue
    throw new Error(`metadata.${key}[${name}] must be a string, but is ${goTypeOf(value)} in converted object`)
  }
  const checked = texts as Record<string, string>
  if (isDeepEqual(checked, before)) return checked
  // The real server's path for annotations is singular here.
  const errors: FieldError[] =
    key === 'labels' ? labelErrors(checked) : annotationErrors(checked, 'metadata.annotation')
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return checked
}
