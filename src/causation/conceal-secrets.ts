/**
 * Keeps the content of Secrets out of essences, and thereby out of annotations, diffs and logs: whoever may read events or
 * the log of an operator may not be allowed to read Secrets. The keys stay, so a diff still says which of them changed.
 * The arguments of handlers have the real values again: reveal-secrets.ts.
 */
import { isPlainObject } from '../util/json/json.ts'
import { resolvePath, withoutPath, withPath } from '../util/json/paths.ts'
import type { Essence, Json } from './cause.ts'
import { digestSecretValue } from './concealed-value.ts'
import { dropSystemAnnotations } from './own-annotations.ts'

/** `data` is base64, which has no colon: a digest cannot be mistaken for a value. */
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

/** What the digests of one Secret are keyed by. */
export function secretKey(body: object): string {
  const uid = resolvePath(body, ['metadata', 'uid'])
  return typeof uid === 'string' ? uid : ''
}

/**
 * An essence of a Secret with digests for values; any other as it is. Digests stay as they are, so this can be applied to
 * what Kopf has stored in clear as well as to what we have stored.
 *
 * The digests are keyed by the uid: the same password in two Secrets looks different, and a table of digests of common
 * passwords is of no use. Whoever can read the uid and guess the value can still confirm the guess.
 */
export function concealSecret(essence: Essence, body: object): Essence {
  if (!isSecret(body)) return essence
  const key = secretKey(body)
  return concealRecords(secretFields.reduce((concealed, field) => concealField(concealed, field, key), essence))
}

/** The records of kubectl and of other operators repeat the content; a handler's `field` may have brought them back. */
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
  // Unlike assignment, this makes `__proto__` a key like any other.
  return { ...essence, [field]: Object.fromEntries(concealed) }
}

function concealValue(value: Json, key: string): Json {
  if (value === null || (typeof value === 'string' && isSecretDigest(value))) return value
  return digestSecretValue(value, key)
}
