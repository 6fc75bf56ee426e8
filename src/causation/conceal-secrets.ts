/**
 * Replaces the values of Secrets by digests in essences, so that they do not appear in annotations, diffs and logs: users who can
 * read these may not be allowed to read Secrets. The keys stay, so that a diff shows which key has changed. reveal-secrets.ts
 * restores the values in the arguments of handlers.
 */
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath, withoutPath, withPath } from '../util/json/paths.ts'
import type { Essence, Json } from './cause.ts'
import { digestSecretValue } from './concealed-value.ts'
import { dropSystemAnnotations } from './own-annotations.ts'

/** `data` is base64, which has no colon: a digest cannot be confused with a value. */
const digestPattern = /^sha256:[0-9a-f]{16}$/

/** The fields of a Secret whose values are secret. */
export const secretFields: readonly string[] = ['data', 'stringData']

export function isSecretDigest(value: string): boolean {
  return digestPattern.test(value)
}

export function isSecret(body: object): boolean {
  const { apiVersion, kind } = body as { apiVersion?: unknown; kind?: unknown }
  return apiVersion === 'v1' && kind === 'Secret'
}

/** The key of the digests of one Secret: its uid. */
export function secretKey(body: object): string {
  const uid = resolvePath(body, ['metadata', 'uid'])
  return typeof uid === 'string' ? uid : ''
}

/**
 * Replaces the values of a Secret by digests; returns other essences unchanged. Existing digests stay, so that it can be applied
 * to states stored by Kopf in plain text and to our own.
 *
 * The digests are keyed by the uid: the same password has different digests in two Secrets, and a precomputed table of digests of
 * common passwords is useless. An attacker who can read the uid can still check a guessed value.
 */
export function concealSecret(essence: Essence, body: object): Essence {
  if (!isSecret(body)) return essence
  const key = secretKey(body)
  return concealRecords(secretFields.reduce((concealed, field) => concealField(concealed, field, key), essence))
}

/**
 * Removes the annotations of kubectl and of other operators, which repeat the content of the Secret. A handler's `field` may have
 * added them to the essence.
 */
function concealRecords(essence: Essence): Essence {
  const annotations = resolvePath(essence, ['metadata', 'annotations'])
  if (!isPlainObject(annotations)) return essence
  const kept = dropSystemAnnotations(annotations)
  if (Object.keys(kept).length === 0) return withoutPath(essence, ['metadata', 'annotations'])
  return withPath(essence, ['metadata', 'annotations'], kept)
}

function concealField(essence: Essence, field: string, key: string): Essence {
  const values = essence[field]
  if (!isPlainObject(values)) return essence
  const concealed = Object.entries(values).map(([name, value]) => [name, concealValue(value, key)] as const)
  if (concealed.every(([name, value]) => value === values[name])) return essence
  // Unlike an assignment, this treats `__proto__` as an ordinary key.
  return { ...essence, [field]: Object.fromEntries(concealed) }
}

function concealValue(value: Json, key: string): Json {
  if (value === null || (typeof value === 'string' && isSecretDigest(value))) return value
  return digestSecretValue(value, key)
}
