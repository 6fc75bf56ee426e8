/**
 * Applies the `Impersonate-*` headers if the client is permitted to impersonate. There are two ways to permit it: the verb
 * `impersonate` on users, groups and so on; and, since Kubernetes 1.36, a constrained mode that takes one verb on the identity
 * (`impersonate:user-info`) and one on the action (`impersonate-on:user-info:list`).
 */
import { type AuthorizationAttributes, type ResourceAttributes, refusal } from '../authorization/attributes.ts'
import { type Authorizer, demand } from '../authorization/authorizer.ts'
import { formatList } from '../authorization/coverage.ts'
import { qualifiedNameProblems, subdomainNameProblems } from '../names.ts'
import { StatusError } from '../status.ts'
import type { User } from './authentication.ts'
import { type ImpersonatedUser, parseImpersonatedUser } from './impersonation-headers.ts'
import { accountGroups, parseAccountUsername } from './service-accounts.ts'

const authentication = 'authentication.k8s.io'
/** Maximum number of users whose last mode is cached. */
const maxCachedModes = 10_000

interface Mode {
  /** '' for the unconstrained verb `impersonate`. */
  readonly name: string
  isFor(wanted: ImpersonatedUser, asker: User): boolean
}

const modes: readonly Mode[] = [
  { name: 'associated-node', isFor: (wanted, asker) => isOnlyName(wanted) && isOwnNode(wanted, asker) },
  { name: 'arbitrary-node', isFor: (wanted) => isOnlyName(wanted) && nodeOf(wanted) !== undefined },
  { name: 'serviceaccount', isFor: (wanted) => isOnlyName(wanted) && accountOf(wanted) !== undefined },
  { name: 'user-info', isFor: (wanted) => nodeOf(wanted) === undefined && accountOf(wanted) === undefined },
  { name: '', isFor: () => true },
]

export class ImpersonationFilter {
  readonly #authorizer: Authorizer

  /** The last successful mode by username. It is tried first, so the 403 message is about that mode. */
  readonly #lastModes = new Map<string, Mode>()

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  /**
   * The effective user: the impersonated user, or the client itself without such headers. Throws a 403 if impersonation is
   * denied.
   */
  apply(asker: User, headers: Readonly<Record<string, string>>, attempt: () => AuthorizationAttributes): User {
    const wanted = parseImpersonatedUser(headers)
    if (wanted === undefined) return asker
    const last = this.#lastModes.get(asker.username)
    const order = last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)]
    let first: StatusError | undefined
    for (const mode of order.filter((one) => one.isFor(wanted, asker))) {
      try {
        this.#check(mode, asker, { wanted, attempt: attempt() })
        this.#remember(asker, mode)
        return asUser(wanted, mode.name)
      } catch (error) {
        if (!(error instanceof StatusError)) throw error
        first ??= error
      }
    }
    throw first!
  }

  #remember({ username }: User, mode: Mode): void {
    if (this.#lastModes.size >= maxCachedModes) this.#lastModes.clear()
    this.#lastModes.set(username, mode)
  }

  #check(
    { name }: Mode,
    asker: User,
    { wanted, attempt }: { wanted: ImpersonatedUser; attempt: AuthorizationAttributes },
  ): void {
    if (name !== '') demand(this.#authorizer, asker, { ...attempt, verb: `impersonate-on:${name}:${attempt.verb}` })
    for (const one of attemptsToBe(wanted, name)) {
      if ('why' in one) throw refusal(asker.username, one.attempt, one.why)
      demand(this.#authorizer, asker, one)
    }
  }
}

type ImpersonationCheck = ResourceAttributes | { readonly attempt: ResourceAttributes; readonly why: string }

/** The permissions needed to impersonate this user, in the order of their checks. */
function* attemptsToBe(wanted: ImpersonatedUser, mode: string): Generator<ImpersonationCheck> {
  const verb = mode === '' ? 'impersonate' : `impersonate:${mode}`
  const base = { verb, group: mode === '' ? '' : authentication, subresource: '', namespace: '' }
  yield { ...base, ...subjectOf(wanted, mode) }
  if (wanted.uid !== '') yield { ...base, group: authentication, resource: 'uids', name: wanted.uid }
  for (const name of wanted.groups) {
    const attempt = { ...base, resource: 'groups', name }
    if (mode !== '' && name === '') yield { attempt, why: 'impersonating the empty string group is not allowed' }
    if (mode !== '' && name === 'system:masters')
      yield { attempt, why: 'impersonating the system:masters group is not allowed' }
    yield attempt
  }
  for (const [key, values] of Object.entries(wanted.extra)) {
    const extras = { ...base, group: authentication, resource: 'userextras' }
    const problem = mode === '' ? undefined : extraProblem(key, values)
    if (problem !== undefined) yield { attempt: { ...extras, name: '' }, why: problem }
    for (const name of values) yield { ...extras, subresource: key, name }
  }
}

function subjectOf(
  wanted: ImpersonatedUser,
  mode: string,
): Pick<ResourceAttributes, 'resource' | 'namespace' | 'name'> {
  const account = accountOf(wanted)
  if (account !== undefined) return { resource: 'serviceaccounts', ...account }
  const node = mode === '' ? undefined : nodeOf(wanted)
  if (node === undefined) return { resource: 'users', namespace: '', name: wanted.username }
  return { resource: 'nodes', namespace: '', name: mode === 'associated-node' ? '*' : node }
}

function extraProblem(key: string, values: readonly string[]): string | undefined {
  if (key === '') return 'impersonating the empty string key in extra is not allowed'
  if (!key.includes('/') || qualifiedNameProblems(key).length > 0) {
    return `impersonating an invalid key in extra is not allowed: ${formatList([key])}`
  }
  return values.includes('') ? 'impersonating the empty string value in extra is not allowed' : undefined
}

function isOnlyName({ uid, groups, extra }: ImpersonatedUser): boolean {
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0
}

function accountOf({ username }: ImpersonatedUser): ReturnType<typeof parseAccountUsername> {
  return parseAccountUsername(username)
}

const nodePrefix = 'system:node:'

function nodeOf({ username }: ImpersonatedUser): string | undefined {
  const name = username.startsWith(nodePrefix) ? username.slice(nodePrefix.length) : ''
  return name !== '' && subdomainNameProblems(name, false).length === 0 ? name : undefined
}

/** True if the client is a service account whose token names this node. */
function isOwnNode(wanted: ImpersonatedUser, { username, extra }: User): boolean {
  const node = nodeOf(wanted)
  if (node === undefined || parseAccountUsername(username) === undefined) return false
  const names = extra?.['authentication.kubernetes.io/node-name'] ?? []
  return names.length === 1 && names[0] === node
}

function asUser(wanted: ImpersonatedUser, mode: string): User {
  const { username, uid, extra } = wanted
  const groups = withAuthenticationGroup(username, impliedGroups(wanted, mode))
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** Groups implied by the username. A node's group is implied in the constrained modes only. */
function impliedGroups(wanted: ImpersonatedUser, mode: string): readonly string[] {
  if (wanted.groups.length > 0) return wanted.groups
  const account = accountOf(wanted)
  if (account !== undefined) return accountGroups(account.namespace)
  return mode !== '' && nodeOf(wanted) !== undefined ? ['system:nodes'] : []
}

function withAuthenticationGroup(username: string, groups: readonly string[]): readonly string[] {
  const isAnonymous = username === 'system:anonymous'
  if (!isAnonymous && groups.includes('system:unauthenticated')) return groups
  const group = isAnonymous ? 'system:unauthenticated' : 'system:authenticated'
  return groups.includes(group) ? groups : [...groups, group]
}
