/**
 * The authorizer interface, and the authorizer for a server without RBAC, which allows every authenticated user everything.
 * RBAC itself is in rbac.ts.
 */
import type { User } from '../identity/authentication.ts'
import { type AuthorizationAttributes, refusal } from './attributes.ts'
import type { PolicyRule } from './policy-rules.ts'

export interface AuthorizationDecision {
  readonly isAllowed: boolean
  /** Explanation shown in SubjectAccessReview results and appended to 403 messages; often ''. */
  readonly reason: string
}

export interface Rules {
  readonly rules: readonly PolicyRule[]
  /** Resolution errors, such as a missing role; '' if every rule was resolved. */
  readonly error: string
}

export interface Authorizer {
  /** True if the user may do everything, so that callers skip every other check. */
  isExempt(user: User): boolean
  authorize(user: User, attempt: AuthorizationAttributes): AuthorizationDecision
  /** The user's rules in a namespace, cluster-wide rules included. */
  rulesFor(user: User, namespace: string): Rules
}

/** Throws a 403 if the authorizer denies the request. */
export function demand(authorizer: Authorizer, user: User, attempt: AuthorizationAttributes): void {
  const { isAllowed, reason } = authorizer.authorize(user, attempt)
  if (!isAllowed) throw refusal(user.username, attempt, reason)
}

const allowed: AuthorizationDecision = { isAllowed: true, reason: '' }
const refused: AuthorizationDecision = { isAllowed: false, reason: '' }
const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Allows authenticated users everything, and unauthenticated users only health and version. */
export const allowAuthenticated: Authorizer = {
  isExempt: isAuthenticated,
  authorize: (user, attempt) =>
    isAuthenticated(user) || ('path' in attempt && publicPaths.has(attempt.path)) ? allowed : refused,
  rulesFor: (user) => ({ rules: isAuthenticated(user) ? everything : [], error: '' }),
}

function isAuthenticated(user: User): boolean {
  return !user.groups.includes('system:unauthenticated')
}
