/**
 * Converts the result of a step to the JSON text that is stored on the object, and back. Everyone with read access to the object can read the result, and
 * annotations are limited in size: so secrets and large results are rejected. Called by steps.ts. Pure.
 */
import { PermanentError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { toPlainJson } from '../patching/patch.ts'
import { parseJsonText, toJsonText } from '../util/json/json-text.ts'
import { describeError } from '../util/log/describe-error.ts'
import { findSecret } from './secret-detection.ts'

/** The limit for all step results of one handler. Kubernetes allows 256 KiB for all annotations of an object, and Kopf's storages write some of them twice. */
const maxCharacters = 32_768

export interface ResultContext {
  /** For messages: `step "bucket" of handler "backups"`. */
  readonly what: string
  readonly body: KubeObject
  /** The number of characters of the other results of the same call. */
  readonly size: number
}

/** Throws a PermanentError for a result that cannot be stored: the step has run already, and a retry would run it again. */
export function toStepResult(value: unknown, { what, body, size }: ResultContext): string {
  const refuse = (why: string): never => {
    throw new PermanentError(`Cannot store the result of ${what}: ${why}`, { code: 'KOPF_STEP_RESULT' })
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
    return refuse(
      `${secret}, and everyone who may read the object could read it; store it in a Secret, and return the name of the Secret`,
    )
  }
  const text = toJsonText(json)
  if (size + text.length <= maxCharacters) return text
  return refuse(
    `it takes ${text.length} characters, and all results of a handler may take ${maxCharacters}; ` +
      'return what is needed to find it again, such as a name or an id',
  )
}

/** Returns undefined for a text that is not JSON: users may have edited the annotation. */
export function readStepResult(text: string): unknown {
  try {
    return text === '' ? undefined : parseJsonText(text)
  } catch {
    return undefined
  }
}
