/**
 * Which old value a failure of a rule may be forgiven by: the own one, or that of what is around. Used by rule-validator.ts.
 */
import type { Correlation } from '../schema/correlate.ts'

export class Ratchet {
  readonly #current: Correlation | undefined
  readonly #around: Correlation | undefined

  constructor(current: Correlation | undefined, around: Correlation | undefined) {
    this.#current = current
    this.#around = around
  }

  isUnchanged(): boolean {
    return (this.#current ?? this.#around)?.isUnchanged() ?? false
  }

  field(key: string): Ratchet {
    if (!this.#current) return this
    // Both versions were converted to the same one: these always look unchanged.
    if (!this.#around && (key === 'apiVersion' || key === 'kind')) return noRatchet
    return new Ratchet(this.#current.field(key), this.#current)
  }

  item(index: number): Ratchet {
    return this.#current ? new Ratchet(this.#current.item(index), this.#current) : this
  }
}

/** Nothing is forgiven. */
export const noRatchet: Ratchet = new Ratchet(undefined, undefined)
