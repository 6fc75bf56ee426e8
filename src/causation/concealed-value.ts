/**
 * The old value of a Secret as handlers get it. Only a digest of it is stored on the object, so there is no value to give; a class of
 * its own keeps user code from taking the digest for the value. Made by reveal-secrets.ts.
 */
import { concealedBrand, concealedText, isConcealed } from '../util/concealed.ts'
import { toJsonText } from '../util/json/json-text.ts'
import { digestWithKey } from '../util/text/digest.ts'

/** The method that `util.inspect` looks for, and with it everything that prints objects. */
const inspectCustom = Symbol.for('nodejs.util.inspect.custom')

/** What tells one concealed value from another. */
export interface ConcealedDigest {
  /** As it is stored: `sha256:…`. */
  readonly digest: string
  /** The uid of the Secret. */
  readonly key: string
}

/** The digest of one value of a Secret. Values that are no strings occur only in annotations that an author has written. */
export function digestSecretValue(value: unknown, key: string): string {
  return `sha256:${digestWithKey(key, typeof value === 'string' ? value : toJsonText(value))}`
}

/** Makes the value for a digest that was stored. */
export let toConcealed: (parts: ConcealedDigest) => ConcealedValue

/** The opposite of `toConcealed`: for the way to another thread, where the class does not survive. */
export let readConcealed: (value: ConcealedValue) => ConcealedDigest

/**
 * A value of a Secret as it was handled last. Of Secrets, only digests are stored on the objects, so the old values in `old` and
 * `diff` are of this class: they can be compared, and not read. Printed, logged or written as JSON, they are `[concealed]`.
 * With `settings.persistence.secretValues: 'plain'`, the old values are strings.
 *
 * @example
 * ```ts
 * kopf.on.field('secrets', 'data.password', ({ old, new: password, logger }) => {
 *   if (old instanceof ConcealedValue && password !== undefined) logger.info(`Changed: ${!old.matches(password)}`)
 * })
 * ```
 */
export class ConcealedValue {
  readonly #digest: string
  readonly #key: string

  private constructor({ digest, key }: ConcealedDigest) {
    this.#digest = digest
    this.#key = key
  }

  static {
    Object.defineProperty(ConcealedValue.prototype, concealedBrand, { value: true })
    Object.defineProperty(ConcealedValue.prototype, inspectCustom, { value: () => concealedText })
    toConcealed = (parts) => new ConcealedValue(parts)
    readConcealed = (value) => ({ digest: value.#digest, key: value.#key })
  }

  /** Conceals a value: for tests that call a handler with arguments of their own. */
  static of(value: string): ConcealedValue {
    return new ConcealedValue({ digest: digestSecretValue(value, ''), key: '' })
  }

  /** Whether a value is concealed: what `instanceof ConcealedValue` asks. */
  static [Symbol.hasInstance](value: unknown): value is ConcealedValue {
    return isConcealed(value)
  }

  /** Whether the concealed value is this one. Values of Secrets are in base64, as in `body.data`. */
  matches(value: unknown): boolean {
    if (typeof value === 'object' && value !== null) return #digest in value && this.#equals(value)
    return value !== undefined && value !== null && digestSecretValue(value, this.#key) === this.#digest
  }

  /** Always `[concealed]`. */
  toString(): string {
    return concealedText
  }

  /** Always `[concealed]`. */
  toJSON(): string {
    return concealedText
  }

  #equals(other: ConcealedValue): boolean {
    return other.#digest === this.#digest && other.#key === this.#key
  }
}
