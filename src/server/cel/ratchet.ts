/**
 * Ratcheting: finds the old value that decides whether a failed rule is only a warning, either the value itself or its parent.
 * Used by rule-validator.ts.
 */
import type { Correlation } from '../schema/correlate.ts'

export class Ratchet {
  readonly #current: Correlation | undefined
  readonly #parent: Correlation | undefined

  constructor(current: Correlation | undefined, parent: Correlation | undefined) {
    this.#current = current
    this.#parent = parent
  }

  isUnchanged(): boolean {
    return (this.#current ?? this.#parent)?.isUnchanged() ?? false
  }

  field(key: string): Ratchet {
    if (!this.#current) return this
    // Both objects were converted to the same version, so these two fields would always look unchanged.
    if (!this.#parent && (key === 'apiVersion' || key === 'kind')) return noRatchet
    return new Ratchet(this.#current.field(key), this.#current)
  }

  item(index: number): Ratchet {
    return this.#current ? new Ratchet(this.#current.item(index), this.#current) : this
  }
}

/** No ratcheting: every failed rule is an error. */
export const noRatchet: Ratchet = new Ratchet(undefined, undefined)
