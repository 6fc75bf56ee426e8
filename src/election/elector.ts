/**
 * The life of one replica as far as the Lease is concerned: it stands by, it leads, and it leads no more; never twice. Made and
 * ended by election/leadership.ts, which says what follows from it. Writes nothing but the Lease.
 */

import { KopfError } from '../errors.ts'
import { monotonicNow } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import { Candidate, type CandidateOptions } from './candidate.ts'
import { holderName, isOutrun, LeaseObject, lost } from './lease.ts'
import { LeaseHolder, type LeaseHolderOptions } from './lease-holder.ts'

export interface ElectorOptions extends CandidateOptions, LeaseHolderOptions {
  /** Told once; with the version that the Lease has since. */
  readonly onLeading: (version: string | undefined) => void
}

/** Once for what was changed or deleted meanwhile, and once more for what happens in between; then the next turn. */
const maxReleases = 2

export class Elector {
  readonly #options: ElectorOptions
  readonly #claim: LeaseHolder
  readonly #standBy: Candidate
  #lastError: unknown

  constructor(options: ElectorOptions) {
    const lease = new LeaseObject(options.session, options.key)
    this.#options = options
    this.#claim = new LeaseHolder(lease, options)
    this.#standBy = new Candidate(lease, this.#claim, options)
  }

  /** By the monotonic clock; undefined before we have ever led, and in the past for good once that is over. */
  get leadsUntilMs(): number | undefined {
    return this.#claim.leadsUntilMs
  }

  /** Until the signal is aborted; rejects with KOPF_LEADERSHIP when we lead no more. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#standBy.run(signal)
    if (this.#claim.leadsUntilMs === undefined) return
    this.#options.onLeading(this.#claim.version)
    try {
      await this.#lead(signal)
    } catch (error) {
      this.#claim.giveUp()
      throw error
    }
  }

  /** After it has ended: others need not wait. Whoever leads no more has nothing to release. */
  async release(signal: AbortSignal): Promise<void> {
    // Before anything is sent: the next one may lead before we have the answer.
    this.#claim.giveUp()
    try {
      await this.#claim.release(signal)
    } catch (error) {
      // The last renewal may have been done although it was not waited for.
      if (!isOutrun(error) || (await this.#claim.recall(signal)).type === 'taken') throw error
      await this.#claim.release(signal)
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clock, retryPeriodMs } = this.#options
    let sentMs = monotonicNow(clock)
    while (!signal.aborted) {
      const dueMs = Math.min(sentMs + retryPeriodMs, this.#claim.leadsUntilMs!)
      await clock.sleep(Math.max(0, dueMs - monotonicNow(clock)), signal).catch(() => {})
      if (signal.aborted) return
      this.#checkTime()
      sentMs = monotonicNow(clock)
      await this.#renew(signal)
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { logger, key } = this.#options
    try {
      await this.#renewOver(signal)
      this.#lastError = undefined
    } catch (error) {
      if (signal.aborted) return
      const isOver = error instanceof KopfError && error.code === 'KOPF_LEADERSHIP'
      if (!isOver) this.#lastError = error
      this.#checkTime()
      if (isOver) throw error
      logger.warn(`Cannot renew the Lease ${key.namespace}/${key.name} yet: ${describeError(error)}`)
    }
  }

  /** Where somebody was faster, it is seen at once who it was: a word of our own, or of one who only labels it, is no loss. */
  async #renewOver(signal: AbortSignal): Promise<void> {
    for (let left = maxReleases; ; left -= 1) {
      try {
        return await this.#claim.renew(signal)
      } catch (error) {
        if (!isOutrun(error) || left === 0) throw error
        const found = await this.#claim.recall(signal)
        if (found.type === 'taken') throw lost(this.#options.key, describeLoss(found.holder, this.#options.identity))
        // Nobody was faster: the server has another reason, and asking it again at once is no help.
        if (!found.isNews) throw error
      }
    }
  }

  #checkTime(): void {
    const { clock, key, renewDeadlineMs } = this.#options
    if (monotonicNow(clock) < this.#claim.leadsUntilMs!) return
    const why = this.#lastError === undefined ? '' : ` (${describeError(this.#lastError)})`
    throw lost(key, `could not be renewed for ${renewDeadlineMs / 1000} seconds${why}`, this.#lastError)
  }
}

function describeLoss(holder: string, identity: string): string {
  if (holder === '') return 'was released by somebody else'
  if (holder === identity) return `was taken by another process that calls itself ${holderName(identity)} too`
  return `was taken by ${holderName(holder)}`
}
