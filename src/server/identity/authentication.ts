/** Who is asking: a client certificate, a bearer token, or nobody in particular. */
import { unauthorized } from '../status.ts'
import { type AccountTokens, serverAudiences, TokenError } from './account-tokens.ts'
import { SignatureError } from './jwt.ts'

/** Who makes a request. */
export interface User {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What the listener knows of the connection beside the request. The same object for all requests of a connection. */
export interface Peer {
  /** The subject of a client certificate that our own CA has signed. */
  readonly certificate?: ClientCertificate
  /** It has shown a certificate that somebody else signed, or that is not a client's. */
  readonly isUntrusted?: boolean
}

interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** SHA-256 in hexadecimal digits; absent where there is no certificate to it, only its word. */
  readonly fingerprint?: string
}

export interface Credentials {
  /** Bearer tokens and whom they stand for. */
  readonly tokens: Map<string, User>
  readonly accounts: AccountTokens
  /** Whoever comes without credentials is an administrator. Only for a server that nobody else can reach. */
  readonly isOpen: boolean
}

export const administrator: User = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
}

const anonymous: User = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

export function authenticate(credentials: Credentials, authorization: string | undefined, peer: Peer): User {
  if (peer.certificate !== undefined) return userOfCertificate(peer.certificate)
  const [scheme = '', token = ''] = (authorization ?? '').trim().split(' ')
  if (scheme.toLowerCase() !== 'bearer' || token === '') {
    // Bad credentials are worse than none.
    if (peer.isUntrusted) throw unauthorized()
    return credentials.isOpen ? administrator : anonymous
  }
  const { user } = userOfToken(credentials, token)
  if (user === undefined) throw unauthorized()
  return user
}

export type TokenVerdict =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly user: undefined; readonly error: string }

const invalidToken = 'invalid bearer token'

/** Whose a token is, for one of these audiences; or why it is nobody's. */
export function userOfToken(
  { tokens, accounts }: Credentials,
  token: string,
  wanted: readonly string[] = serverAudiences,
): TokenVerdict {
  // Found by a hash with a secret seed: the time it takes tells nothing of how much of a guess was right.
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

/** The same user for the same credentials: what is worked out of users is kept by them. */
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
