/** A certificate of an authority of one's own, which lives as long as the server does. The keys never leave the memory. */
import { CertificateAuthority, type KeyPair } from '../util/certificates.ts'
import { toHosts } from './addresses.ts'

const yearMs = 365 * 24 * 3_600_000
/** So long that no process lives to see it. */
const authorityLifetimeMs = 20 * yearMs
/** The last third is for those whose clock is wrong, and for what goes wrong. */
const renewedAfterMs = (yearMs * 2) / 3

export class SelfSigned {
  readonly #authority: CertificateAuthority
  readonly #names: readonly string[]
  #issued: { readonly pair: KeyPair; readonly atMs: number } | undefined

  private constructor(authority: CertificateAuthority, names: readonly string[]) {
    this.#authority = authority
    this.#names = names
  }

  static async create(names: readonly string[]): Promise<SelfSigned> {
    const authority = await CertificateAuthority.create('kopf-webhooks', { lifetimeMs: authorityLifetimeMs })
    return new SelfSigned(authority, names)
  }

  /** Stays the same whatever is issued: so what the API server trusts does not change. */
  get caPem(): string {
    return this.#authority.caPem
  }

  /** The same one until two thirds of its life are over. */
  async issue(nowMs: number): Promise<KeyPair> {
    if (this.#issued === undefined || nowMs - this.#issued.atMs >= renewedAfterMs) {
      const pair = await this.#authority.issue({ ...toHosts(this.#names), lifetimeMs: yearMs })
      this.#issued = { pair, atMs: nowMs }
    }
    return this.#issued.pair
  }
}
