/** What all answers have in common: failures are a Status, warnings are headers. Called by api-server.ts. */
import { type Answer, jsonAnswer } from './call.ts'
import { badRequest, internalError, StatusError } from './status.ts'
import { warningHeaders } from './warnings.ts'

/** Whether an exception is neither a refusal nor the client's doing. */
export function isBug(error: unknown): boolean {
  return !(error instanceof StatusError) && !isTooDeep(error)
}

/** Whatever has gone wrong: what is no refusal is a bug of this server, or too deep. */
export function failureAnswer(error: unknown): Answer {
  if (error instanceof StatusError) return statusAnswer(error)
  return statusAnswer(isTooDeep(error) ? badRequest('exceeded max depth') : internalError(error))
}

function statusAnswer(error: StatusError): Answer {
  const answer = jsonAnswer(error.code, error.toStatus())
  const retryAfter = error.details?.retryAfterSeconds
  if (retryAfter === undefined || retryAfter === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, warning: warningHeaders(warnings) } }
}

/** Bodies are bounded in depth, but patches can pile up what is not; then nothing was stored, for lack of its text. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded'
}

export async function* inOneChunk(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
