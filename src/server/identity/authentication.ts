/** Authenticates requests by client certificate or bearer token. Requests without credentials are anonymous. */
import { unauthorized } from '../status.ts'
import { type AccountTokens, serverAudiences, TokenError } from './account-tokens.ts'
import { SignatureError } from './jwt.ts'

/** An authenticated user: the name and the groups that RBAC bindings refer to. */
export interface User {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** TLS facts about a connection. All requests of a connection share the same object. */
export interface ConnectionPeer {
  /** Subject of a client certificate that this server's CA has signed. */
  readonly certificate?: ClientCertificate
  /** True if the client certificate is signed by another CA or is not a client certificate. */
  readonly isUntrusted?: boolean
}

interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 in hexadecimal. Absent if an in-process caller states the subject without a certificate. */
  readonly fingerprint?: string
}

export interface Credentials {
  /** Static bearer tokens and their users. */
  readonly tokens: Map<string, User>
  readonly accounts: AccountTokens
  /** Treats requests without credentials as an administrator's. Only for a server that no other client can reach. */
  readonly isOpen: boolean
}

export const administrator: User = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
}

const anonymous: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

export function authenticate(credentials: Credentials, authorization: string | undefined, peer: ConnectionPeer): User {
  if (peer.certificate !== undefined) return userOfCertificate(peer.certificate)
  const [scheme = '', token = ''] = (authorization ?? '').trim().split(' ')
  if (scheme.toLowerCase() !== 'bearer' || token === '') {
    // A client that presents an untrusted certificate is rejected even where anonymous requests are allowed.
    if (peer.isUntrusted) throw unauthorized()
    return credentials.isOpen ? administrator : anonymous
  }
  const { user } = userOfToken(credentials, token)
  if (user === undefined) throw unauthorized()
  return user
}

export type TokenAuthentication =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly user: undefined; readonly error: string }

const invalidToken = 'invalid bearer token'

/** Authenticates a bearer token for one of these audiences, or says why it is invalid. */
export function userOfToken(
  { tokens, accounts }: Credentials,
  token: string,
  wanted: readonly string[] = serverAudiences,
): TokenAuthentication {
  // A Map lookup hashes with a secret seed, so its duration reveals nothing about how much of a guessed token is right.
  const known = tokens.get(token)
  const audiences = serverAudiences.filter((one) => wanted.includes(one))
  if (known !== undefined && audiences.length > 0) return { user: authenticated(known), audiences }
  try {
    return accounts.authenticate(token, wanted) ?? { user: undefined, error: invalidToken }
  } catch (error) {
    if (!(error instanceof TokenError || error instanceof SignatureError)) throw error
    return { user: undefined, error: `[${invalidToken}, ${error.message}]` }
  }
}

/** Returns the same User object for the same credentials: the RBAC cache is keyed by that object. */
const users = new WeakMap<object, User>()

function userOfCertificate(certificate: ClientCertificate): User {
  const known = users.get(certificate)
  if (known !== undefined) return known
  const { commonName, organizations, fingerprint } = certificate
  const id = `X509SHA256=${fingerprint}`
  const extra = { 'authentication.kubernetes.io/credential-id': [id] }
  const user = { username: commonName, groups: organizations, ...(fingerprint === undefined ? {} : { extra }) }
  users.set(certificate, authenticated(user))
  return users.get(certificate)!
}

function authenticated(user: User): User {
  const group = 'system:authenticated'
  if (user.groups.includes(group)) return user
  const known = users.get(user) ?? { ...user, groups: [...user.groups, group] }
  users.set(user, known)
  return known
}
