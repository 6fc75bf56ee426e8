/**
 * Whether the conditions of a webhook let a request come to it. One that is false keeps it away; one that fails counts as the
 * webhook's own failure would. Called by reviewer.ts with the objects as the webhook would get them.
 */
import { isAllowed, type User } from '../authentication.ts'
import type { AccessDecision, AccessQuestion } from '../cel/library/authorizer.ts'
import { forbidden } from '../status.ts'
import type { Invocation } from './match.ts'
import { type Attributes, createReview, type Objects } from './review.ts'

export function meetsConditions(invocation: Invocation, attributes: Attributes, objects: Objects): boolean {
  const { conditions, isOptional } = invocation.hook
  if (!conditions) return true
  const { uid: _uid, object, oldObject, ...request } = createReview(invocation, attributes, objects).request
  const authorize = (question: AccessQuestion): AccessDecision => authorizeFor(attributes.user, question)
  const result = conditions.evaluate({ object, oldObject, request, authorize })
  if ('matches' in result) return result.matches
  if (isOptional) return false
  const [first, ...rest] = [...new Set(result.errors)]
  const why = rest.length === 0 ? first! : `[${[first, ...rest].join(', ')}]`
  throw forbidden(attributes.resource, attributes.name, why)
}

/** As the server's own access reviews answer: whoever it lets in may do everything, and service accounts are let in. */
function authorizeFor(user: User, { serviceAccount }: AccessQuestion): AccessDecision {
  return { allowed: serviceAccount !== undefined || isAllowed(user), reason: '' }
}
