/** What is known of a request before and after it is served: whom and what it concerns, and how its failure is told. Pure. */
import { type Answer, jsonAnswer } from './call.ts'
import type { FaultSubject } from './faults.ts'
import { type ParsedRequest, verbOf } from './request.ts'
import type { StatusError } from './status.ts'
import { warningHeaders } from './warnings.ts'

export const nothing: FaultSubject = {
  verb: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  user: '',
  path: '',
}

export function subjectOf(parsed: ParsedRequest, user: string): FaultSubject {
  const { method, path, resource } = parsed
  // What is not a resource is got by its path, never listed or watched.
  if (resource === undefined) {
    return { ...nothing, path, user, verb: method === 'GET' || method === 'HEAD' ? 'get' : '' }
  }
  const { group, plural, subresource, namespace, name } = resource
  const verb = verbOf(parsed) ?? ''
  return { verb, resource: group === '' ? plural : `${plural}.${group}`, subresource, namespace, name, path, user }
}

/** Bodies are bounded in depth, but patches can pile up what is not; then nothing was stored, for lack of its text. */
export function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded'
}

export function statusAnswer(error: StatusError): Answer {
  const answer = jsonAnswer(error.code, error.toStatus())
  const retryAfter = error.details?.retryAfterSeconds
  if (retryAfter === undefined || retryAfter === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer
  return { ...answer, headers: { ...answer.headers, warning: warningHeaders(warnings) } }
}
