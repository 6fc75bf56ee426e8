/**
 * Limits the memory of all parsed reviews together. A review that does not fit waits until others have ended; review-request.ts limits how long. A part
 * of the budget is reserved for small reviews, and one client address gets only a part, so that neither large reviews nor one client block all others.
 */
import { getHeapStatistics } from 'node:v8'
import { WebhookError } from '../../errors.ts'

const mebibyte = 1024 * 1024
/** More memory would not help: parsing more reviews at once only blocks the event loop. */
const maxBudget = 512 * mebibyte
/** The maximum number of waiting reviews. */
const maxWaiting = 256

/** Half of the heap: with the 320 MiB for old objects that `kopf manifests` sets, Node has a heap of about 370 MiB, and this gives about 180 MiB. */
export function defaultBudgetBytes(): number {
  return Math.min(getHeapStatistics().heap_size_limit / 2, maxBudget)
}

export interface MemoryReservation {
  readonly bytes: number
  readonly address: string
  /** False while the reservation waits, and after its release. */
  isActive: boolean
  readonly onActive: () => void
}

export class MemoryBudget {
  readonly #total: number
  /** Reservations that wait, oldest first. */
  readonly #waiting = new Set<MemoryReservation>()
  readonly #byAddress = new Map<string, number>()
  #used = 0
  #usedByLarge = 0

  constructor(total: number) {
    this.#total = total
  }

  /** The maximum for an admission review, which has up to two objects. */
  get maxAdmission(): number {
    return this.#total / 2
  }

  /** The maximum for a conversion review, which may have a whole list of objects. Also for all large reviews together, and for one address. */
  get maxConversion(): number {
    return (this.#total * 3) / 4
  }

  /** Reviews up to this size count as small. */
  get #maxSmall(): number {
    return this.#total / 64
  }

  /** Calls `onActive` as soon as the memory is available, perhaps at once. Throws if too many reviews wait already. */
  reserve(bytes: number, address: string, onActive: () => void): MemoryReservation {
    const reservation: MemoryReservation = { bytes, address, isActive: false, onActive }
    if (this.#fits(reservation)) this.#activate(reservation)
    else if (this.#waiting.size >= maxWaiting) throw new WebhookError(503, 'too many large requests at once')
    else this.#waiting.add(reservation)
    return reservation
  }

  /** Ends an active or a waiting reservation. */
  release(reservation: MemoryReservation): void {
    if (this.#waiting.delete(reservation) || !reservation.isActive) return
    reservation.isActive = false
    this.#count(reservation, -1)
    for (const other of this.#waiting) if (this.#fits(other)) this.#activate(other)
  }

  #fits({ bytes, address }: MemoryReservation): boolean {
    if (this.#used + bytes > this.#total) return false
    if (bytes > this.#maxSmall && this.#usedByLarge + bytes > this.maxConversion) return false
    return (this.#byAddress.get(address) ?? 0) + bytes <= this.maxConversion
  }

  #activate(reservation: MemoryReservation): void {
    this.#waiting.delete(reservation)
    reservation.isActive = true
    this.#count(reservation, 1)
    reservation.onActive()
  }

  #count({ bytes, address }: MemoryReservation, sign: 1 | -1): void {
    this.#used += sign * bytes
    if (bytes > this.#maxSmall) this.#usedByLarge += sign * bytes
    const used = (this.#byAddress.get(address) ?? 0) + sign * bytes
    if (used > 0) this.#byAddress.set(address, used)
    else this.#byAddress.delete(address)
  }
}
