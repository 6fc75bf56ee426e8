/**
 * Keeps the content of Secrets out of essences, and thereby out of annotations, diffs and logs: whoever may read events or
 * the log of an operator may not be allowed to read Secrets. The keys stay, so a diff still says which of them changed.
 */
import { digestWithKey } from '../../util/digest.ts'
import { isPlainObject } from '../../util/json.ts'
import { resolvePath, withoutPath, withPath } from '../../util/paths.ts'
import { dropSystemAnnotations } from './annotations.ts'
import type { Essence, Json } from './causes.ts'

/** `data` is base64, which has no colon: a digest cannot be mistaken for a value. */
const digestPattern = /^sha256:[0-9a-f]{16}$/

/**
 * An essence of a Secret with digests for values; any other as it is. Digests stay as they are, so this can be applied to
 * what Kopf has stored in clear as well as to what we have stored.
 *
 * The digests are keyed by the uid: the same password in two Secrets looks different, and a table of digests of common
 * passwords is of no use. Whoever can read the uid and guess the value can still confirm the guess.
 */
export function concealSecret(essence: Essence, body: object): Essence {
  const { apiVersion, kind } = body as { apiVersion?: unknown; kind?: unknown }
  if (apiVersion !== 'v1' || kind !== 'Secret') return essence
  const uid = resolvePath(body, ['metadata', 'uid'])
  const key = typeof uid === 'string' ? uid : ''
  return concealRecords(concealField(concealField(essence, 'data', key), 'stringData', key))
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
  if (value === null || (typeof value === 'string' && digestPattern.test(value))) return value
  return `sha256:${digestWithKey(key, String(value))}`
}
