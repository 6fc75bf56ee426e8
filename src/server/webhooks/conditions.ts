/**
 * Whether the conditions of a webhook let a request come to it. One that is false keeps it away; one that fails counts as the
 * webhook's own failure would. Called by reviewer.ts with the objects as the webhook would get them.
 */
import type { Authorizer } from '../authorization/authorizer.ts'
import type { AccessDecision, AccessQuestion } from '../cel/library/authorizer.ts'
import type { User } from '../identity/authentication.ts'
import { accountGroups, accountUsername } from '../identity/service-accounts.ts'
import { forbidden } from '../status.ts'
import type { Invocation } from './match.ts'
import { type Attributes, createReview, type Objects } from './review.ts'

interface Asked extends Objects {
  readonly attributes: Attributes
  readonly authorizer: Authorizer
}

export function meetsConditions(invocation: Invocation, { attributes, authorizer, ...objects }: Asked): boolean {
  const { conditions, isOptional } = invocation.hook
  if (!conditions) return true
  const { uid: _uid, object, oldObject, ...request } = createReview(invocation, attributes, objects).request
  const mayDo = (question: AccessQuestion): AccessDecision => decide(authorizer, attributes.user, question)
  const result = conditions.evaluate({ object, oldObject, request, authorize: mayDo })
  if ('matches' in result) return result.matches
  if (isOptional) return false
  const [first, ...rest] = [...new Set(result.errors)]
  const why = rest.length === 0 ? first! : `[${[first, ...rest].join(', ')}]`
  throw forbidden(attributes.resource, attributes.name, why)
}

function decide(authorizer: Authorizer, asker: User, question: AccessQuestion): AccessDecision {
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
