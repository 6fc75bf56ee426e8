/**
 * The tokens of service accounts: given out by verbs/token.ts, accepted here. A token is good until it expires, and as long
 * as its account, and the object that it is bound to, are the ones that it was made for.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../util/clock.ts'
import { formatList } from '../authorization/coverage.ts'
import type { Keepsakes } from '../storage/keepsakes.ts'
import type { Store } from '../storage/store.ts'
import { keyOf, parseStored, type Stored } from '../storage/stored.ts'
import type { User } from './authentication.ts'
import { type PublicJwk, readClaims, TokenSigner } from './jwt.ts'
import { accountGroups, accountUsername } from './service-accounts.ts'

export const issuer = 'https://kubernetes.default.svc.cluster.local'

/** Whom tokens are for unless told: this server. */
export const serverAudiences: readonly string[] = [issuer]

/** No token is good for longer than 136 years. */
export const longestSeconds: number = 2 ** 32

/** By so much, the clocks of machines may differ. */
const leewaySeconds = 60

const keyName = 'service-account-key'

/** So many tokens are not checked again whether they are ours; the signature takes longer than all the rest. */
const keptTokens = 1000

interface Reference {
  readonly name: string
  readonly uid?: string
}

/** What a token is bound to; of a pod's, the node is only told. */
export interface BoundObjects {
  readonly node?: Reference
  readonly pod?: Reference
  readonly secret?: Reference
}

interface AccountClaims extends BoundObjects {
  readonly namespace: string
  readonly serviceaccount: Reference
  readonly warnafter?: number
}

interface Claims {
  readonly aud: readonly string[]
  readonly exp: number
  readonly iat: number
  readonly nbf: number
  readonly jti: string
  readonly 'kubernetes.io': AccountClaims
}

export interface TokenWish {
  readonly account: { readonly namespace: string; readonly name: string; readonly uid: string }
  readonly audiences: readonly string[]
  readonly seconds: number
  readonly bound: BoundObjects
  /** From when on the real server complains of its use, in its records. */
  readonly warnAfterSeconds?: number
}

/** Why a token of ours is not good, or no more. */
export class TokenError extends Error {}

export class AccountTokens {
  readonly #store: Store
  readonly #clock: Clock
  readonly #keepsakes: Keepsakes
  #signer: TokenSigner | undefined

  /** Tokens with a right signature, the oldest first. */
  readonly #verified = new Map<string, { readonly claims: Claims; readonly user: User }>()

  constructor(store: Store, clock: Clock, keepsakes: Keepsakes) {
    this.#store = store
    this.#clock = clock
    this.#keepsakes = keepsakes
  }

  get jwk(): PublicJwk {
    return this.#signing.jwk
  }

  issue({ account, audiences, seconds, bound, warnAfterSeconds }: TokenWish): string {
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

  /** Undefined where it is none of ours; throws where it is one that is no good. */
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

  /** With the key of a former life, if there is one: tokens are good for longer than a server runs. */
  #createSigner(): TokenSigner {
    const known = this.#keepsakes.recall(keyName)
    const signer = new TokenSigner(known)
    if (known === undefined) this.#keepsakes.remember(keyName, signer.exportKey())
    return signer
  }

  #verify(token: string): { claims: Claims; user: User } | undefined {
    const read = readClaims(token)
    if (read?.['iss'] !== issuer) return undefined
    this.#signing.verify(token)
    // From here on it is what we have written ourselves.
    const claims = read as unknown as Claims
    const known = { claims, user: userOf(claims) }
    this.#verified.set(token, known)
    if (this.#verified.size > keptTokens) this.#verified.delete(this.#verified.keys().next().value!)
    return known
  }

  #checkTime({ exp, nbf }: Claims): void {
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
    if (this.#isLeaving(account)) {
      throw new TokenError(`service account ${namespace}/${serviceaccount.name} has been deleted`)
    }
    if (secret !== undefined) this.#checkBound('secret', this.#find('secrets', namespace, secret), secret)
    if (pod !== undefined) this.#checkBound('pod', this.#find('pods', namespace, pod), pod)
    else if (node !== undefined) this.#checkBound('node', this.#find('nodes', '', node), node)
  }

  #checkBound(kind: 'node' | 'pod' | 'secret', present: Stored | undefined, { uid }: Reference): void {
    if (present === undefined || this.#isLeaving(present)) {
      throw new TokenError('service account token has been invalidated')
    }
    if (present.uid === uid) return
    throw new TokenError(`${kind} UID (${present.uid}) does not match service account ${kind} ref claim (${uid})`)
  }

  #find(collection: string, namespace: string, { name }: Reference): Stored | undefined {
    return this.#store.collection(collection).get(keyOf(namespace, name))
  }

  /** Marked for deletion for longer than clocks may differ. */
  #isLeaving(stored: Stored): boolean {
    if (!stored.isDeleting) return false
    const since = Date.parse(parseStored(stored).metadata.deletionTimestamp ?? '')
    return since < this.#clock.now() - leewaySeconds * 1000
  }
}

function userOf({ jti, 'kubernetes.io': { namespace, serviceaccount, pod, node } }: Claims): User {
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
