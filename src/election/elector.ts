/**
 * The leader election of one replica: candidate first, then leader, then the end of the run; a replica never leads twice. Created by leadership.ts,
 * which stops the work of a replica that has lost the Lease. Writes nothing but the Lease.
 */

import { KopfError } from '../errors.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import { Candidate, type CandidateOptions } from './candidate.ts'
import { holderName, isWriteRejected, LeaseObject, toLostLeaseError } from './lease.ts'
import { LeaseHolder, type LeaseHolderOptions } from './lease-holder.ts'

export interface ElectorOptions extends CandidateOptions, LeaseHolderOptions {
  /** Called once, when this replica becomes the leader, with the resource version of the Lease. */
  readonly onLeading: (version: string | undefined) => void
}

/** How often a renewal is repeated at once after a conflict. Further repetitions wait for the next retry period. */
const maxConflictRetries = 2

export class Elector {
  readonly #options: ElectorOptions
  readonly #leaseHolder: LeaseHolder
  readonly #candidate: Candidate
  #lastError: unknown

  constructor(options: ElectorOptions) {
    const lease = new LeaseObject(options.session, options.key)
    this.#options = options
    this.#leaseHolder = new LeaseHolder(lease, options)
    this.#candidate = new Candidate(lease, this.#leaseHolder, options)
  }

  /** The end of the leadership, by the monotonic clock. Undefined before this replica has led; -Infinity after it has given up. */
  get leadsUntilMs(): number | undefined {
    return this.#leaseHolder.leadsUntilMs
  }

  /** Resolves when the signal is aborted. Rejects with KOPF_LEADERSHIP when this replica has lost the Lease. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#candidate.run(signal)
    if (this.#leaseHolder.leadsUntilMs === undefined) return
    this.#options.onLeading(this.#leaseHolder.version)
    try {
      await this.#lead(signal)
    } catch (error) {
      this.#leaseHolder.giveUp()
      throw error
    }
  }

  /** Releases the Lease after `run` has ended, so that candidates need not wait until it expires. Call it only on the leader. */
  async release(signal: AbortSignal): Promise<void> {
    // Before the request is sent: another replica may lead before its response arrives.
    this.#leaseHolder.giveUp()
    try {
      await this.#leaseHolder.release(signal)
    } catch (error) {
      // A renewal that was aborted by the end of `run` may have been stored.
      if (!isWriteRejected(error) || (await this.#leaseHolder.check(signal)).type === 'taken') throw error
      await this.#leaseHolder.release(signal)
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs } = this.#options
    let sentMs = monotonicNow(clock)
    while (!signal.aborted) {
      const dueMs = Math.min(sentMs + retryPeriodMs, this.#leaseHolder.leadsUntilMs!)
      await clock.sleep(Math.max(0, dueMs - monotonicNow(clock)), signal).catch(() => {})
      if (signal.aborted) return
      this.#checkDeadline()
      sentMs = monotonicNow(clock)
      await this.#renew(signal)
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { logger, key } = this.#options
    try {
      await this.#renewAfterConflicts(signal)
      this.#lastError = undefined
    } catch (error) {
      if (signal.aborted) return
      const isOver = error instanceof KopfError && error.code === 'KOPF_LEADERSHIP'
      if (!isOver) this.#lastError = error
      this.#checkDeadline()
      if (isOver) throw error
      logger.warn(`Cannot renew the Lease ${key.namespace}/${key.name} yet: ${describeError(error)}`)
    }
  }

  /** Renews the Lease. After a conflict, checks the holder: a write of our own, or a change of labels by another client, is no loss of the Lease. */
  async #renewAfterConflicts(signal: AbortSignal): Promise<void> {
    for (let retriesLeft = maxConflictRetries; ; retriesLeft -= 1) {
      try {
        return await this.#leaseHolder.renew(signal)
      } catch (error) {
        if (!isWriteRejected(error) || retriesLeft === 0) throw error
        const check = await this.#leaseHolder.check(signal)
        if (check.type === 'taken') {
          throw toLostLeaseError(this.#options.key, describeLoss(check.holder, this.#options.identity))
        }
        // The Lease is unchanged, so the server has another reason: an immediate retry would fail again.
        if (!check.isChanged) throw error
      }
    }
  }

  #checkDeadline(): void {
    const { clock, key, renewDeadlineMs } = this.#options
    if (monotonicNow(clock) < this.#leaseHolder.leadsUntilMs!) return
    const why = this.#lastError === undefined ? '' : ` (${describeError(this.#lastError)})`
    throw toLostLeaseError(key, `could not be renewed for ${renewDeadlineMs / 1000} seconds${why}`, this.#lastError)
  }
}

function describeLoss(holder: string, identity: string): string {
  if (holder === '') return 'was released by another client'
  if (holder === identity) return `was taken by another process with the same identity ${holderName(identity)}`
  return `was taken by ${holderName(holder)}`
}
