/**
 * Codes with which a developer logs in to a dashboard on the same machine, instead of a token. Each works once and for a few minutes; only digests are kept.
 * After some wrong codes, all codes end, so that they cannot be guessed.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../util/async/clock.ts'

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
