/** What the handlers of one request have come to, as one answer: the weightiest of their errors, or what is to be changed. */
import { describeError, isOf } from '../../core/handling/outcomes.ts'
import { AdmissionError, PermanentError, TemporaryError } from '../../errors.ts'
import type { AdmissionVerdict } from '../../kube/reviews.ts'
import type { JsonPatchOperation } from '../../util/json-diff.ts'
import { toJsonText } from '../../util/json-text.ts'

export interface Findings {
  readonly errors: readonly unknown[]
  /** As the handlers pushed them: meant to be text. */
  readonly warnings: readonly unknown[]
  readonly edits: readonly JsonPatchOperation[]
}

/** What is wanted of the object is told also where the request is refused, as in Kopf. */
export function toVerdict({ errors, warnings, edits }: Findings): AdmissionVerdict {
  const error = weightiest(errors)
  return {
    allowed: errors.length === 0,
    warnings: warnings.map(describeError),
    patch: edits.length === 0 ? undefined : Buffer.from(toJsonText(edits)).toString('base64'),
    status: errors.length === 0 ? undefined : { message: describeError(error), code: codeOf(error) },
  }
}

/** Only one can be told: errors meant for whoever made the request go before those of the operator's own kind, then all others. */
function weightiest(errors: readonly unknown[]): unknown {
  const rank = (error: unknown) => ranks.findIndex((type) => isOf(error, type))
  const ranked = errors.map((error) => ({ error, rank: rank(error) < 0 ? ranks.length : rank(error) }))
  return ranked.sort((a, b) => a.rank - b.rank)[0]?.error
}

const ranks = [AdmissionError, PermanentError, TemporaryError]

/** The API server would take anything; what is no status of a refusal is not passed on. */
function codeOf(error: unknown): number {
  const status = isOf(error, AdmissionError) ? error.status : 500
  return Number.isSafeInteger(status) && status >= 400 && status <= 599 ? status : 500
}
