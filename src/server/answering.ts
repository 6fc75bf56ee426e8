/** Common parts of responses: failures become a Status, warnings become headers. Called by api-server.ts. */
import { type ApiResponse, jsonAnswer } from './call.ts'
import { badRequest, internalError, StatusError } from './status.ts'
import { warningHeaders } from './warnings.ts'

/** True if the exception is a bug of this server: neither a StatusError nor caused by a client's deeply nested data. */
export function isBug(error: unknown): boolean {
  return !(error instanceof StatusError) && !isTooDeep(error)
}

/** The response to any exception: a StatusError as it says, too deep data as 400, anything else as 500. */
export function failureAnswer(error: unknown): ApiResponse {
  if (error instanceof StatusError) return statusAnswer(error)
  return statusAnswer(isTooDeep(error) ? badRequest('exceeded max depth') : internalError(error))
}

function statusAnswer(error: StatusError): ApiResponse {
  const answer = jsonAnswer(error.code, error.toStatus())
  const retryAfter = error.details?.retryAfterSeconds
  if (retryAfter === undefined || retryAfter === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

export function withWarnings(answer: ApiResponse, warnings: readonly string[]): ApiResponse {
  if (warnings.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, warning: warningHeaders(warnings) } }
}

/**
 * Bodies are limited in depth, but patches can create deeper values. Serialising such a value overflows the stack before anything is
 * stored.
 */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded'
}

export async function* inOneChunk(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
