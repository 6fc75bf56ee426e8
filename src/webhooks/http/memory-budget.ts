/**
 * How many bytes parsed reviews may take at once. A review whose claim does not fit waits for others to end; reviews.ts limits for
 * how long. A part of the budget is kept for small reviews, and a part for other addresses, so that neither large reviews nor one
 * client can hold up everybody.
 */
import { getHeapStatistics } from 'node:v8'
import { WebhookError } from '../../errors.ts'

const mebibyte = 1024 * 1024
/** Where memory is plenty, time is the limit: more at once would only keep the event loop busy. */
const maxBudget = 512 * mebibyte
const maxWaiting = 256

/** Half of the heap, which Node makes half of the memory limit of the container: 128 MiB of the 512Mi that are printed. */
export function defaultBudgetBytes(): number {
  return Math.min(getHeapStatistics().heap_size_limit / 2, maxBudget)
}

export interface MemoryClaim {
  readonly bytes: number
  readonly address: string
  isGranted: boolean
  readonly grant: () => void
}

export class MemoryBudget {
  readonly #total: number
  /** In the order in which they came. */
  readonly #waiting = new Set<MemoryClaim>()
  readonly #byAddress = new Map<string, number>()
  #used = 0
  #usedByLarge = 0

  constructor(total: number) {
    this.#total = total
  }

  /** Of an admission review, which has two objects. */
  get maxAdmission(): number {
    return this.#total / 2
  }

  /** Of a conversion review, which may have a whole list of objects; also of all large reviews, or of an address. */
  get maxConversion(): number {
    return (this.#total * 3) / 4
  }

  get #maxSmall(): number {
    return this.#total / 64
  }

  /** Calls `grant` at once or later; throws where so many wait that this one would wait in vain. */
  claim(bytes: number, address: string, grant: () => void): MemoryClaim {
    const claim: MemoryClaim = { bytes, address, isGranted: false, grant }
    if (this.#fits(claim)) this.#grant(claim)
    else if (this.#waiting.size >= maxWaiting) throw new WebhookError(503, 'too many large requests at once')
    else this.#waiting.add(claim)
    return claim
  }

  /** Whether it was granted or not. */
  release(claim: MemoryClaim): void {
    if (this.#waiting.delete(claim) || !claim.isGranted) return
    claim.isGranted = false
    this.#count(claim, -1)
    for (const other of this.#waiting) if (this.#fits(other)) this.#grant(other)
  }

  #fits({ bytes, address }: MemoryClaim): boolean {
    if (this.#used + bytes > this.#total) return false
    if (bytes > this.#maxSmall && this.#usedByLarge + bytes > this.maxConversion) return false
    return (this.#byAddress.get(address) ?? 0) + bytes <= this.maxConversion
  }

  #grant(claim: MemoryClaim): void {
    this.#waiting.delete(claim)
    claim.isGranted = true
    this.#count(claim, 1)
    claim.grant()
  }

  #count({ bytes, address }: MemoryClaim, sign: 1 | -1): void {
    this.#used += sign * bytes
    if (bytes > this.#maxSmall) this.#usedByLarge += sign * bytes
    const used = (this.#byAddress.get(address) ?? 0) + sign * bytes
    if (used > 0) this.#byAddress.set(address, used)
    else this.#byAddress.delete(address)
  }
}
