/**
 * What a conversion webhook made of an object, checked against the object, and put right: of its metadata, only labels and
 * annotations can be the webhook's. Throws Errors in the words of the real server. Pure; called by webhook-conversion.ts.
 */
import { type JsonObject, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { cloneJson, isDeepEqual } from '../../util/equality.ts'
import { isPlainObject } from '../../util/json.ts'
import { toJsonText } from '../../util/json-text.ts'
import { mismatch } from '../decode.ts'
import { type FieldError, formatFieldErrors } from '../field-errors.ts'
import { annotationErrors, labelErrors } from '../metadata.ts'
import { goTypeOf } from './go-types.ts'

interface Conversion {
  readonly original: KubeObject
  readonly desiredAPIVersion: string
  /** How the message begins: `conversion webhook for example.com/v1, Kind=Widget`. */
  readonly subject: string
  /** Its place among those that were asked for together. */
  readonly index: number
}

export function restoreObject(
  converted: unknown,
  { original, desiredAPIVersion, subject, index }: Conversion,
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
  // What is no version hides the kind as well.
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

/** Only what the webhook has changed is looked at: what was there before may be older than the rules for it. */
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
  // The real server calls annotations by this name here.
  const errors: FieldError[] =
    key === 'labels' ? labelErrors(checked) : annotationErrors(checked, 'metadata.annotation')
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return checked
}
