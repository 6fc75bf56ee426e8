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
 * The last handled value of a field in a Secret, in the arguments `old` and `diff`. Only a digest of the value is stored, so it can be compared but not
 * read. Its text and JSON form is `[concealed]`. With `settings.persistence.secretValues: 'plain'`, the old values are strings instead.
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

  /** Creates a concealed value, for tests that call a handler function with their own arguments. */
  static of(value: string): ConcealedValue {
    return new ConcealedValue({ digest: digestSecretValue(value, ''), key: '' })
  }

  /** Makes `instanceof ConcealedValue` work across copies of this package. */
  static [Symbol.hasInstance](value: unknown): value is ConcealedValue {
    return isConcealed(value)
  }

  /** Returns whether the given value equals the concealed one. Values of Secrets are in base64, as in `body.data`. */
  matches(value: unknown): boolean {
    if (typeof value === 'object' && value !== null) return #digest in value && this.#equals(value)
    return value !== undefined && value !== null && digestSecretValue(value, this.#key) === this.#digest
  }

  /** Returns `[concealed]`. */
  toString(): string {
    return concealedText
  }

  /** Returns `[concealed]`. */
  toJSON(): string {
    return concealedText
  }

  #equals(other: ConcealedValue): boolean {
    return other.#digest === this.#digest && other.#key === this.#key
  }
}
