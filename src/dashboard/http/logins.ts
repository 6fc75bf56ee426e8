/**
 * Codes with which a developer logs in to a dashboard on the same machine, instead of a token. Each works once and for a few minutes; only digests are kept.
 * After some wrong codes, all codes end, so that they cannot be guessed.
 * Also limits the attempts to log in per address.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../util/async/clock.ts'
import { LruMap } from '../../util/lru-map.ts'

const lifetimeMs = 10 * 60_000
const maxCodes = 16
const maxWrong = 10

interface LoginCode {
  readonly digest: Buffer
  readonly expiresAtMs: number
}

export class LoginCodes {
  readonly #clock: Clock
  #codes: LoginCode[] = []
  #wrong = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A new code of 128 random bits. */
  create(): string {
    const code = randomBytes(16).toString('base64url')
    this.#codes = [...this.#valid(), { digest: digest(code), expiresAtMs: this.#clock.now() + lifetimeMs }].slice(
      -maxCodes,
    )
    this.#wrong = 0
    return code
  }

  /** Whether the code is valid; it is not any more afterwards. Compares with each code in constant time. */
  use(code: string): boolean {
    const given = digest(code)
    const codes = this.#valid()
    const rest = codes.filter((one) => !timingSafeEqual(one.digest, given))
    const isValid = rest.length < codes.length
    if (!isValid) this.#wrong += 1
    this.#codes = this.#wrong >= maxWrong ? [] : rest
    return isValid
  }

  #valid(): LoginCode[] {
    const nowMs = this.#clock.now()
    return this.#codes.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
  }
}

function digest(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}

/** The attempts of one address: a burst, and one more every few seconds. */
const burst = 20
const refillMs = 3000
const maxAddresses = 2000

interface AttemptBucket {
  readonly tokens: number
  readonly atMs: number
}

export class LoginAttempts {
  readonly #clock: Clock
  readonly #buckets = new LruMap<string, AttemptBucket>(maxAddresses)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts an attempt. Returns false if the address has to wait. */
  take(address: string): boolean {
    const nowMs = this.#clock.now()
    const { tokens, atMs } = this.#buckets.get(address) ?? { tokens: burst, atMs: nowMs }
    const current = Math.min(burst, tokens + Math.max(0, nowMs - atMs) / refillMs)
    this.#buckets.set(address, { tokens: current < 1 ? current : current - 1, atMs: nowMs })
    return current >= 1
  }
}
