/**
 * `ConcealedValue`: the old value of a Secret as handlers get it. Only a digest of it is stored on the object, so the value
 * itself is unknown. The class prevents user code from mistaking the digest for the value. Created by reveal-secrets.ts.
 */
import { concealedBrand, concealedText, isConcealed } from '../util/concealed.ts'
import { toJsonText } from '../util/json/json-text.ts'
import { digestWithKey } from '../util/text/digest.ts'

/** The method with which `util.inspect` and all functions based on it print an object. */
const inspectCustom = Symbol.for('nodejs.util.inspect.custom')

/** The content of a concealed value. Two concealed values are equal if both fields are equal. */
export interface ConcealedDigest {
  /** The stored digest: `sha256:…`. */
  readonly digest: string
  /** The uid of the Secret. */
  readonly key: string
}

/** The digest of one value of a Secret. Values that are not strings occur only in stored states that were edited by users. */
export function digestSecretValue(value: unknown, key: string): string {
  return `sha256:${digestWithKey(key, typeof value === 'string' ? value : toJsonText(value))}`
}

/** Creates the value for a stored digest. */
export let toConcealed: (parts: ConcealedDigest) => ConcealedValue

/** Returns the content of a concealed value, to send it to a worker thread, where instances of the class cannot be sent. */
export let readConcealed: (value: ConcealedValue) => ConcealedDigest

/**
 * An old value of a Secret in `old` and `diff`. The framework stores only digests of Secret values on objects, so an old value
 * can be compared, but not read. Printed, logged or written as JSON, it is `[concealed]`. With
 * `settings.persistence.secretValues: 'plain'`, old values are strings.
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

  /** Conceals a value, for tests that call a handler with their own arguments. */
  static of(value: string): ConcealedValue {
    return new ConcealedValue({ digest: digestSecretValue(value, ''), key: '' })
  }

  /** Implements `instanceof ConcealedValue`. */
  static [Symbol.hasInstance](value: unknown): value is ConcealedValue {
    return isConcealed(value)
  }

  /** Whether the concealed value equals this one. Values of Secrets are in base64, as in `body.data`. */
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
