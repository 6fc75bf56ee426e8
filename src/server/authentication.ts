/** Who is asking, and whether they may: tokens, client certificates, or nobody in particular. */
import type { Verb } from './request.ts'
import type { ServedResource } from './resource.ts'
import { StatusError, unauthorized } from './status.ts'

export interface User {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What the listener knows of the connection beside the request. */
export interface Peer {
  /** The subject of a client certificate that our own CA has signed. */
  readonly certificate?: { readonly commonName: string; readonly organizations: readonly string[] }
  /** It has shown a certificate that somebody else signed, or that is not a client's. */
  readonly isUntrusted?: boolean
}

export interface Credentials {
  /** Bearer tokens and whom they stand for. */
  readonly tokens: Map<string, User>
  /** Whoever comes without credentials is an administrator. Only for a server that nobody else can reach. */
  readonly isOpen: boolean
}

export const administrator: User = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
}

const anonymous: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

export function authenticate(credentials: Credentials, authorization: string | undefined, peer: Peer): User {
  if (peer.certificate !== undefined) {
    const { commonName, organizations } = peer.certificate
    return authenticated({ username: commonName, groups: organizations })
  }
  const [scheme = '', token = ''] = (authorization ?? '').trim().split(' ')
  if (scheme.toLowerCase() !== 'bearer' || token === '') {
    // Bad credentials are worse than none.
    if (peer.isUntrusted) throw unauthorized()
    return credentials.isOpen ? administrator : anonymous
  }
  const user = userOfToken(credentials, token)
  if (user === undefined) throw unauthorized()
  return user
}

export function userOfToken(credentials: Credentials, token: string): User | undefined {
  // Found by a hash with a secret seed: the time it takes tells nothing of how much of a guess was right.
  const user = credentials.tokens.get(token)
  return user && authenticated(user)
}

function authenticated(user: User): User {
  const group = 'system:authenticated'
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] }
}

/** Everybody with credentials may do everything; nobody else may do anything but ask for health and version. */
export function isAllowed(user: User): boolean {
  return !user.groups.includes('system:unauthenticated')
}

const publicPaths = new Set(['/healthz', '/livez', '/readyz', '/version', '/version/'])

export function authorizePath(user: User, method: string, path: string): void {
  if (isAllowed(user) || publicPaths.has(path)) return
  throw new StatusError(
    403,
    'Forbidden',
    `forbidden: User "${user.username}" cannot ${method.toLowerCase()} path "${path}"`,
    {},
  )
}

export interface Attempt {
  /** '' for a method that the API has no use for. */
  readonly verb: Verb | ''
  readonly group: string
  readonly plural: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

export function authorize(user: User, attempt: Attempt, resource: ServedResource | undefined): void {
  if (isAllowed(user)) return
  const { group, verb, namespace, name } = attempt
  const what = attempt.subresource === '' ? attempt.plural : `${attempt.plural}/${attempt.subresource}`
  const subject = group === '' ? attempt.plural : `${attempt.plural}.${group}`
  const named = name === '' ? subject : `${subject} "${name}"`
  const isNamespaced = namespace !== '' && resource?.namespaced !== false
  const where = isNamespaced ? `in the namespace "${namespace}"` : 'at the cluster scope'
  throw new StatusError(
    403,
    'Forbidden',
    `${named} is forbidden: User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`,
    { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: attempt.plural },
  )
}
