/**
 * Service account tokens: signed for verbs/token.ts, and authenticated here. A token is valid until it expires, and only while
 * its service account and the object it is bound to still exist with the same UIDs.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../util/async/clock.ts'
import { formatList } from '../authorization/coverage.ts'
import type { ServerState } from '../storage/server-state.ts'
import type { ServerStore } from '../storage/store.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'
import type { User } from './authentication.ts'
import { type PublicJwk, readClaims, TokenSigner } from './jwt.ts'
import { accountGroups, accountUsername } from './service-accounts.ts'

export const issuer = 'https://kubernetes.default.svc.cluster.local'

/** Default audience of a token: this server. */
export const serverAudiences: readonly string[] = [issuer]

/** Maximum lifetime of a token: 2^32 seconds, or 136 years. */
export const maxTokenSeconds: number = 2 ** 32

/** Tolerated clock skew between machines. */
const leewaySeconds = 60

const keyName = 'service-account-key'

/** Maximum number of cached tokens. The signature check, the most expensive part of authentication, is skipped for them. */
const maxVerifiedTokens = 1000

interface TokenReference {
  readonly name: string
  readonly uid?: string
}

/** Objects the token is bound to. In a pod's token the node is informational and not checked. */
export interface BoundObjects {
  readonly node?: TokenReference
  readonly pod?: TokenReference
  readonly secret?: TokenReference
}

interface AccountClaims extends BoundObjects {
  readonly namespace: string
  readonly serviceaccount: TokenReference
  readonly warnafter?: number
}

interface TokenClaims {
  readonly aud: readonly string[]
  readonly exp: number
  readonly iat: number
  readonly nbf: number
  readonly jti: string
  readonly 'kubernetes.io': AccountClaims
}

export interface TokenOptions {
  readonly account: { readonly namespace: string; readonly name: string; readonly uid: string }
  readonly audiences: readonly string[]
  readonly seconds: number
  readonly bound: BoundObjects
  /** Sets the `warnafter` claim: the real server audits the use of the token after that time. */
  readonly warnAfterSeconds?: number
}

/** A token of this server that is expired, revoked or meant for another audience. */
export class TokenError extends Error {}

export class AccountTokens {
  readonly #store: ServerStore
  readonly #clock: Clock
  readonly #serverState: ServerState
  #signer: TokenSigner | undefined

  /** Tokens with a verified signature, oldest first. */
  readonly #verified = new Map<string, { readonly claims: TokenClaims; readonly user: User }>()

  constructor(store: ServerStore, clock: Clock, serverState: ServerState) {
    this.#store = store
    this.#clock = clock
    this.#serverState = serverState
  }

  get jwk(): PublicJwk {
    return this.#signing.jwk
  }

  issue({ account, audiences, seconds, bound, warnAfterSeconds }: TokenOptions): string {
    const now = Math.floor(this.#clock.now() / 1000)
    const { namespace, name, uid } = account
    return this.#signing.sign({
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuer,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        ...bound,
        serviceaccount: { name, uid },
        ...(warnAfterSeconds === undefined ? {} : { warnafter: now + warnAfterSeconds }),
      },
      nbf: now,
      sub: accountUsername(account),
    })
  }

  /** Undefined for tokens of other issuers. Throws a TokenError or SignatureError for an invalid token of this server. */
  authenticate(token: string, wanted: readonly string[]): { user: User; audiences: string[] } | undefined {
    const known = this.#verified.get(token) ?? this.#verify(token)
    if (known === undefined) return undefined
    const { claims, user } = known
    const audiences = claims.aud.filter((one) => wanted.includes(one))
    if (audiences.length === 0) {
      const [given, target] = [formatList(claims.aud), formatList(wanted)]
      throw new TokenError(`token audiences ${given} is invalid for the target audiences ${target}`)
    }
    this.#checkTime(claims)
    this.#checkObjects(claims['kubernetes.io'])
    return { user, audiences }
  }

  get #signing(): TokenSigner {
    this.#signer ??= this.#createSigner()
    return this.#signer
  }

  /** Reuses the persisted key, so that tokens survive a restart of the server. */
  #createSigner(): TokenSigner {
    const known = this.#serverState.get(keyName)
    const signer = new TokenSigner(known)
    if (known === undefined) this.#serverState.put(keyName, signer.exportKey())
    return signer
  }

  #verify(token: string): { claims: TokenClaims; user: User } | undefined {
    const read = readClaims(token)
    if (read?.['iss'] !== issuer) return undefined
    this.#signing.verify(token)
    // The signature is valid, so this server wrote the claims and their types are known.
    const claims = read as unknown as TokenClaims
    const known = { claims, user: userOf(claims) }
    this.#verified.set(token, known)
    if (this.#verified.size > maxVerifiedTokens) this.#verified.delete(this.#verified.keys().next().value!)
    return known
  }

  #checkTime({ exp, nbf }: TokenClaims): void {
    const now = this.#clock.now() / 1000
    if (now - leewaySeconds > exp) throw new TokenError('service account token has expired')
    if (now + leewaySeconds < nbf) throw new TokenError('service account token is not valid yet')
  }

  #checkObjects({ namespace, serviceaccount, secret, pod, node }: AccountClaims): void {
    const account = this.#find('serviceaccounts', namespace, serviceaccount)
    if (account === undefined) throw new TokenError(`serviceaccounts "${serviceaccount.name}" not found`)
    if (account.uid !== serviceaccount.uid) {
      throw new TokenError(`service account UID (${account.uid}) does not match claim (${serviceaccount.uid})`)
    }
    if (this.#isDeleted(account)) {
      throw new TokenError(`service account ${namespace}/${serviceaccount.name} has been deleted`)
    }
    if (secret !== undefined) this.#checkBound('secret', this.#find('secrets', namespace, secret), secret)
    if (pod !== undefined) this.#checkBound('pod', this.#find('pods', namespace, pod), pod)
    else if (node !== undefined) this.#checkBound('node', this.#find('nodes', '', node), node)
  }

  #checkBound(kind: 'node' | 'pod' | 'secret', present: Stored | undefined, { uid }: TokenReference): void {
    if (present === undefined || this.#isDeleted(present)) {
      throw new TokenError('service account token has been invalidated')
    }
    if (present.uid === uid) return
    throw new TokenError(`${kind} UID (${present.uid}) does not match service account ${kind} ref claim (${uid})`)
  }

  #find(collection: string, namespace: string, { name }: TokenReference): Stored | undefined {
    return this.#store.collection(collection).get(keyOf(namespace, name))
  }

  /** True if the object was marked for deletion longer ago than the tolerated clock skew. */
  #isDeleted(stored: Stored): boolean {
    if (!stored.isDeleting) return false
    const since = Date.parse(parseStored(stored).metadata.deletionTimestamp ?? '')
    return since < this.#clock.now() - leewaySeconds * 1000
  }
}

function userOf({ jti, 'kubernetes.io': { namespace, serviceaccount, pod, node } }: TokenClaims): User {
  const prefix = 'authentication.kubernetes.io'
  return {
    username: accountUsername({ namespace, name: serviceaccount.name }),
    uid: serviceaccount.uid!,
    groups: [...accountGroups(namespace), 'system:authenticated'],
    extra: {
      [`${prefix}/credential-id`]: [`JTI=${jti}`],
      ...(node === undefined ? {} : { [`${prefix}/node-name`]: [node.name] }),
      ...(node?.uid === undefined ? {} : { [`${prefix}/node-uid`]: [node.uid] }),
      ...(pod === undefined ? {} : { [`${prefix}/pod-name`]: [pod.name], [`${prefix}/pod-uid`]: [pod.uid!] }),
    },
  }
}
