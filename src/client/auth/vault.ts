/**
 * The credentials by login: which to use, which have expired, and which the server rejected, so that they are not used again. State
 * only; authenticated-transport.ts fills and reads it, and gives it the time.
 */
import { digestText } from '../../util/text/digest.ts'
import type { ConnectionInfo } from './connection-info.ts'
import { hasFiles, readCredentialFiles } from './credential-files.ts'

export interface Credential {
  /** The id of the login handler. */
  readonly id: string
  /** As returned by the login, with paths of files. */
  readonly given: ConnectionInfo
  /** With the contents of the files instead of their paths. */
  readonly resolved: ConnectionInfo
  /** A digest of `resolved`: equal for equal credentials. */
  readonly fingerprint: string
}

/** Maximum number of rejected credentials remembered per login: as many as may be in use at the same time during a new login. */
const maxRejected = 3

export class Vault {
  readonly #credentials = new Map<string, Credential>()
  /** Fingerprints of the credentials rejected last, by login. */
  readonly #rejected = new Map<string, readonly string[]>()

  /** The credentials with the highest priority; each request uses one of them at random. */
  get best(): readonly Credential[] {
    const credentials = [...this.#credentials.values()]
    const highest = Math.max(...credentials.map(({ given }) => given.priority))
    return credentials.filter(({ given }) => given.priority === highest)
  }

  /** When the first credentials expire, in milliseconds since the epoch. */
  get expiresMs(): number {
    return Math.min(...[...this.#credentials.values()].map(expiryOf))
  }

  has(credential: Credential): boolean {
    return this.#credentials.get(credential.id) === credential
  }

  /** False for credentials that have expired or that the server has rejected. */
  canAdd(credential: Credential, nowMs: number): boolean {
    const { id, fingerprint } = credential
    return expiryOf(credential) > nowMs && !this.#rejected.get(id)?.includes(fingerprint)
  }

  /** Replaces older credentials of the same login. */
  add(credential: Credential): void {
    this.#credentials.set(credential.id, credential)
  }

  reject(credential: Credential): void {
    const { id, fingerprint } = credential
    if (this.has(credential)) this.#credentials.delete(id)
    const others = (this.#rejected.get(id) ?? []).filter((one) => one !== fingerprint)
    this.#rejected.set(id, [...others, fingerprint].slice(-maxRejected))
  }

  /** Removes expired credentials. A login may return them again, for example with a later expiration. */
  expire(nowMs: number): void {
    for (const [id, credential] of this.#credentials) if (expiryOf(credential) <= nowMs) this.#credentials.delete(id)
  }

  /** Allows rejected credentials again: a server that has just started may reject valid credentials. */
  clearRejected(): void {
    this.#rejected.clear()
  }
}

function expiryOf({ given }: Credential): number {
  return given.expiration?.getTime() ?? Number.POSITIVE_INFINITY
}

/** Throws if a file cannot be read. */
export function toCredential(id: string, given: ConnectionInfo): Credential {
  const read = hasFiles(given) ? readCredentialFiles(given) : given
  return { id, given, resolved: read, fingerprint: digestText(JSON.stringify(read.reveal())) }
}

/** The credentials with the current contents of their files; undefined if these are unchanged or cannot be read. */
export function toRenewed(credential: Credential): Credential | undefined {
  if (!hasFiles(credential.given)) return undefined
  try {
    const renewed = toCredential(credential.id, credential.given)
    return renewed.fingerprint === credential.fingerprint ? undefined : renewed
  } catch {
    // The file is being written or was deleted; the contents read before may still be valid.
    return undefined
  }
}

/** A random element; undefined for an empty list. */
export function pickOne<T>(choices: readonly T[], random: () => number): T | undefined {
  return choices.length <= 1 ? choices[0] : choices[Math.floor(random() * choices.length)]
}
