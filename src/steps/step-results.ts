/**
 * What a step has come to, as it is kept on the object: the text of JSON. Whoever may read the object can read it there, and
 * there is little room; so secrets are refused, and what is large. Pure.
 */
import { PermanentError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { toPlainJson } from '../patching/patch.ts'
import { parseJsonText, toJsonText } from '../util/json/json-text.ts'
import { describeError } from '../util/log/describe-error.ts'
import { findSecret } from './secret-detection.ts'

/** All annotations of an object have 256 KB together, some are written twice, and others need room, too. */
const maxCharacters = 32_768

export interface ResultContext {
  /** For messages: `step "bucket" of handler "backups"`. */
  readonly what: string
  readonly body: KubeObject
  /** What the other results of the same call take. */
  readonly size: number
}

/** Refused for good: the step is done, and trying again would do it again. */
export function toStepResult(value: unknown, { what, body, size }: ResultContext): string {
  const refuse = (why: string): never => {
    throw new PermanentError(`Cannot remember the result of ${what}: ${why}`, { code: 'KOPF_STEP_RESULT' })
  }
  let json: ReturnType<typeof toPlainJson>
  try {
    json = toPlainJson(value)
  } catch (error) {
    return refuse(`${describeError(error)}; return plain data, or nothing`)
  }
  if (json === undefined) return ''
  const secret = findSecret(json, body)
  if (secret !== undefined) {
    return refuse(`${secret}, and it would be readable on the object; keep it in a Secret and return the name of that`)
  }
  const text = toJsonText(json)
  if (size + text.length <= maxCharacters) return text
  return refuse(
    `it takes ${text.length} characters, and all results of a handler may take ${maxCharacters}; ` +
      'return what is needed to find it again, such as a name or an id',
  )
}

/** Anybody may have edited it: what cannot be read is nothing. */
export function readStepResult(text: string): unknown {
  try {
    return text === '' ? undefined : parseJsonText(text)
  } catch {
    return undefined
  }
}
