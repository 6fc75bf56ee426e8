/** Whether somebody may do something. RBAC answers by the roles that there are (rbac.ts); where it is off, everybody may. */
import type { User } from '../identity/authentication.ts'
import { type Attempt, refusal } from './attempt.ts'
import type { PolicyRule } from './policy-rules.ts'

export interface Decision {
  readonly isAllowed: boolean
  /** What reviews say of it, and refusals add; often ''. */
  readonly reason: string
}

export interface Rules {
  readonly rules: readonly PolicyRule[]
  /** What could not be found out; '' where all could. */
  readonly error: string
}

export interface Authorizer {
  /** Whether somebody may do everything: then nothing else needs to be asked. */
  isExempt(user: User): boolean
  authorize(user: User, attempt: Attempt): Decision
  /** What somebody may do in a namespace, cluster-wide rules included. */
  rulesFor(user: User, namespace: string): Rules
}

/** Throws the refusal. */
export function demand(authorizer: Authorizer, user: User, attempt: Attempt): void {
  const { isAllowed, reason } = authorizer.authorize(user, attempt)
  if (!isAllowed) throw refusal(user.username, attempt, reason)
}

const allowed: Decision = { isAllowed: true, reason: '' }
const refused: Decision = { isAllowed: false, reason: '' }
const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Everybody with credentials may do everything; nobody else may do anything but ask for health and version. */
export const allowKnown: Authorizer = {
  isExempt: isKnown,
  authorize: (user, attempt) =>
    isKnown(user) || ('path' in attempt && publicPaths.has(attempt.path)) ? allowed : refused,
  rulesFor: (user) => ({ rules: isKnown(user) ? everything : [], error: '' }),
}

function isKnown(user: User): boolean {
  return !user.groups.includes('system:unauthenticated')
}
