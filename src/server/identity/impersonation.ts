/**
 * Requests in the name of somebody else, by the headers `Impersonate-*`, where the one who asks may do that. There are two
 * ways to be allowed: by the verb `impersonate` on a user, its groups and so on, as ever; and, since 1.36, by one verb on whom
 * to be (`impersonate:user-info`) together with one on what to do meanwhile (`impersonate-on:user-info:list`).
 */
import type { Attempt, ResourceAttempt } from '../authorization/attempt.ts'
import { refusal } from '../authorization/attempt.ts'
import { type Authorizer, demand } from '../authorization/authorizer.ts'
import { formatList } from '../authorization/coverage.ts'
import { qualifiedNameProblems, subdomainNameProblems } from '../names.ts'
import { StatusError } from '../status.ts'
import type { User } from './authentication.ts'
import { readWantedUser, type WantedUser } from './impersonation-headers.ts'
import { accountGroups, parseAccountUsername } from './service-accounts.ts'

const authentication = 'authentication.k8s.io'
/** As many users are remembered, with how they were last allowed to be another. */
const keptModes = 10_000

interface Mode {
  /** '' for the way of old. */
  readonly name: string
  isFor(wanted: WantedUser, asker: User): boolean
}

const modes: readonly Mode[] = [
  { name: 'associated-node', isFor: (wanted, asker) => isOnlyName(wanted) && isOwnNode(wanted, asker) },
  { name: 'arbitrary-node', isFor: (wanted) => isOnlyName(wanted) && nodeOf(wanted) !== undefined },
  { name: 'serviceaccount', isFor: (wanted) => isOnlyName(wanted) && accountOf(wanted) !== undefined },
  { name: 'user-info', isFor: (wanted) => nodeOf(wanted) === undefined && accountOf(wanted) === undefined },
  { name: '', isFor: () => true },
]

export class Impersonation {
  readonly #authorizer: Authorizer

  /** By user name, the mode that was last good: tried first, so that refusals speak of it. */
  readonly #lastModes = new Map<string, Mode>()

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  /** Who the request is to be taken for: the asker, but for the headers. Throws where that is not allowed. */
  apply(asker: User, headers: Readonly<Record<string, string>>, attempt: () => Attempt): User {
    const wanted = readWantedUser(headers)
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
    if (this.#lastModes.size >= keptModes) this.#lastModes.clear()
    this.#lastModes.set(username, mode)
  }

  #check({ name }: Mode, asker: User, { wanted, attempt }: { wanted: WantedUser; attempt: Attempt }): void {
    if (name !== '') demand(this.#authorizer, asker, { ...attempt, verb: `impersonate-on:${name}:${attempt.verb}` })
    for (const one of attemptsToBe(wanted, name)) {
      if ('why' in one) throw refusal(asker.username, one.attempt, one.why)
      demand(this.#authorizer, asker, one)
    }
  }
}

type Step = ResourceAttempt | { readonly attempt: ResourceAttempt; readonly why: string }

/** What must be allowed to be this user, one after the other. */
function* attemptsToBe(wanted: WantedUser, mode: string): Generator<Step> {
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

function subjectOf(wanted: WantedUser, mode: string): Pick<ResourceAttempt, 'resource' | 'namespace' | 'name'> {
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

function isOnlyName({ uid, groups, extra }: WantedUser): boolean {
  return uid === '' && groups.length === 0 && Object.keys(extra).length === 0
}

function accountOf({ username }: WantedUser): ReturnType<typeof parseAccountUsername> {
  return parseAccountUsername(username)
}

const nodePrefix = 'system:node:'

function nodeOf({ username }: WantedUser): string | undefined {
  const name = username.startsWith(nodePrefix) ? username.slice(nodePrefix.length) : ''
  return name !== '' && subdomainNameProblems(name, false).length === 0 ? name : undefined
}

/** A service account that is told, in its token, to be on this node. */
function isOwnNode(wanted: WantedUser, { username, extra }: User): boolean {
  const node = nodeOf(wanted)
  if (node === undefined || parseAccountUsername(username) === undefined) return false
  const names = extra?.['authentication.kubernetes.io/node-name'] ?? []
  return names.length === 1 && names[0] === node
}

function asUser(wanted: WantedUser, mode: string): User {
  const { username, uid, extra } = wanted
  const groups = withEverybody(username, impliedGroups(wanted, mode))
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

/** Those of a service account are known; those of a node only where it is impersonated as one. */
function impliedGroups(wanted: WantedUser, mode: string): readonly string[] {
  if (wanted.groups.length > 0) return wanted.groups
  const account = accountOf(wanted)
  if (account !== undefined) return accountGroups(account.namespace)
  return mode !== '' && nodeOf(wanted) !== undefined ? ['system:nodes'] : []
}

function withEverybody(username: string, groups: readonly string[]): readonly string[] {
  const isAnonymous = username === 'system:anonymous'
  if (!isAnonymous && groups.includes('system:unauthenticated')) return groups
  const group = isAnonymous ? 'system:unauthenticated' : 'system:authenticated'
  return groups.includes(group) ? groups : [...groups, group]
}
