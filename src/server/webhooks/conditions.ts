/**
 * Evaluates the match conditions of a webhook. A false condition skips the webhook; a failing one is handled by the failure policy.
 * Called by reviewer.ts with the objects that the webhook would get.
 */
import type { Authorizer } from '../authorization/authorizer.ts'
import type { AccessDecision, AccessQuery } from '../cel/library/authorizer.ts'
import type { User } from '../identity/authentication.ts'
import { accountGroups, accountUsername } from '../identity/service-accounts.ts'
import { forbidden } from '../status.ts'
import type { Invocation } from './match.ts'
import { type Attributes, createReview, type Objects } from './review.ts'

interface MatchConditionInput extends Objects {
  readonly attributes: Attributes
  readonly authorizer: Authorizer
}

export function meetsConditions(
  invocation: Invocation,
  { attributes, authorizer, ...objects }: MatchConditionInput,
): boolean {
  const { conditions, isOptional } = invocation.hook
  if (!conditions) return true
  const { uid: _uid, object, oldObject, ...request } = createReview(invocation, attributes, objects).request
  const mayDo = (question: AccessQuery): AccessDecision => decide(authorizer, attributes.user, question)
  const result = conditions.evaluate({ object, oldObject, request, authorize: mayDo })
  if ('matches' in result) return result.matches
  if (isOptional) return false
  const [first, ...rest] = [...new Set(result.errors)]
  const why = rest.length === 0 ? first! : `[${[first, ...rest].join(', ')}]`
  throw forbidden(attributes.resource, attributes.name, why)
}

function decide(authorizer: Authorizer, asker: User, question: AccessQuery): AccessDecision {
  const {
    verb,
    path,
    group = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
    serviceAccount,
  } = question
  const user = serviceAccount === undefined ? asker : accountOf(serviceAccount)
  const attempt = path === undefined ? { verb, group, resource, subresource, namespace, name } : { verb, path }
  const { isAllowed, reason } = authorizer.authorize(user, attempt)
  return { allowed: isAllowed, reason }
}

function accountOf(account: { readonly namespace: string; readonly name: string }): User {
  return { username: accountUsername(account), groups: [...accountGroups(account.namespace), 'system:authenticated'] }
}
