/**
 * The credentials that the logins have given, by the login: which of them to use, which are over, and which were refused, so
 * that nobody tries those again. State only: it asks nobody, and knows no clock. Filled and asked by running/connect.ts.
 */
import { digestText } from '../util/digest.ts'
import { hasFiles, readCredentialFiles } from './credential-files.ts'
import type { ConnectionInfo } from './credentials.ts'

export interface Credential {
  /** The login that gave them. */
  readonly id: string
  /** As they were given; files that they name may be renewed. */
  readonly given: ConnectionInfo
  /** With what is in those files instead of their names. */
  readonly read: ConnectionInfo
  /** Equal for equal credentials; no way back. */
  readonly fingerprint: string
}

/** Of each login, so many that were refused are remembered: as many as may be in use at once while it is asked again. */
const mostRefused = 3

export class Vault {
  readonly #held = new Map<string, Credential>()
  /** The fingerprints of the last ones that were refused, by login. */
  readonly #refused = new Map<string, readonly string[]>()

  /** Those with the highest priority; any of them will do. */
  get best(): readonly Credential[] {
    const held = [...this.#held.values()]
    const highest = Math.max(...held.map(({ given }) => given.priority))
    return held.filter(({ given }) => given.priority === highest)
  }

  /** When the first of them is over, in milliseconds since the epoch. */
  get expiresMs(): number {
    return Math.min(...[...this.#held.values()].map(expiryOf))
  }

  has(credential: Credential): boolean {
    return this.#held.get(credential.id) === credential
  }

  /** Not where it is over, or the same was refused before. */
  canTake(credential: Credential, nowMs: number): boolean {
    const { id, fingerprint } = credential
    return expiryOf(credential) > nowMs && !this.#refused.get(id)?.includes(fingerprint)
  }

  /** In the place of an older one of the same login. */
  put(credential: Credential): void {
    this.#held.set(credential.id, credential)
  }

  refuse(credential: Credential): void {
    const { id, fingerprint } = credential
    if (this.has(credential)) this.#held.delete(id)
    const others = (this.#refused.get(id) ?? []).filter((one) => one !== fingerprint)
    this.#refused.set(id, [...others, fingerprint].slice(-mostRefused))
  }

  /** What is over may come back: it was not refused. */
  expire(nowMs: number): void {
    for (const [id, credential] of this.#held) if (expiryOf(credential) <= nowMs) this.#held.delete(id)
  }

  /** What was refused gets another chance: servers that have just started may refuse everybody. */
  forgive(): void {
    this.#refused.clear()
  }
}

function expiryOf({ given }: Credential): number {
  return given.expiration?.getTime() ?? Number.POSITIVE_INFINITY
}

/** Throws where a file cannot be read. */
export function toCredential(id: string, given: ConnectionInfo): Credential {
  const read = hasFiles(given) ? readCredentialFiles(given) : given
  return { id, given, read, fingerprint: digestText(JSON.stringify(read.reveal())) }
}

/** What is in the files now; undefined where that is the same as before, or cannot be read. */
export function toRenewed(credential: Credential): Credential | undefined {
  if (!hasFiles(credential.given)) return undefined
  try {
    const renewed = toCredential(credential.id, credential.given)
    return renewed.fingerprint === credential.fingerprint ? undefined : renewed
  } catch {
    // In the middle of being written, or gone: what was read before may still do.
    return undefined
  }
}

/** By chance among equals. */
export function pickOne<T>(choices: readonly T[], random: () => number): T | undefined {
  return choices.length <= 1 ? choices[0] : choices[Math.floor(random() * choices.length)]
}
