/** Bodies and diffs in words, for debug logs. Nothing secret gets into them. */
import { concealSecret } from '../core/causation/secrets.ts'
import { isPlainObject } from '../util/json.ts'
import { toJsonText } from '../util/json-text.ts'

export function describeBody(value: object): string {
  return toJsonText(isPlainObject(value) ? conceal(value) : value)
}

/** kubectl keeps what was applied in an annotation: of a Secret, the secret. */
function conceal(body: object): object {
  const concealed = concealSecret(body as never, body) as Record<string, unknown>
  if (concealed['kind'] !== 'Secret' || !isPlainObject(concealed['metadata'])) return concealed
  const { annotations, ...metadata } = concealed['metadata']
  return { ...concealed, metadata }
}
