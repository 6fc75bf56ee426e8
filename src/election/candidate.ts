/**
 * A replica that does not lead: watches the Lease and takes it when the holder has released it or let it expire. Apart from the watch, it sends
 * no requests until the Lease can be taken. takeover-decision.ts decides when that is. Created by elector.ts.
 */
import { isForbidden } from '../client/api-error.ts'
import { addedJitter } from '../util/async/backoff.ts'
import { monotonicNow, noLongerNeeded } from '../util/async/clock.ts'
import { Notifier } from '../util/async/latch.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { ObjectInformer } from '../watching/object-informer.ts'
import type { ReflectOptions } from '../watching/reflector.ts'
import {
  countTransition,
  isWriteRejected,
  type LeaseKey,
  type LeaseObject,
  leases,
  readRecord,
  toForbiddenError,
} from './lease.ts'
import type { LeaseHolder } from './lease-holder.ts'
import { decideTakeover, type LeaseObservation, observeLease, type TakeoverDecision } from './takeover-decision.ts'

export interface CandidateOptions extends Pick<ReflectOptions, 'session' | 'clock' | 'watching'> {
  readonly key: LeaseKey
  readonly random: () => number
  readonly logger: Logger
  readonly leaseDurationMs: number
  readonly retryPeriodMs: number
  /** Called each time another replica has become the holder that this candidate waits for. */
  readonly onWaiting: (holder: string) => void
}

/**
 * Candidates wait a random time up to this before they take a free Lease: all of them see at once that it is free, and the first one to write
 * usually wins without a conflict.
 */
const maxTakeDelayMs = 100
/** The share of the retry period that is added at random after a failure, as in client-go. */
const retryJitter = 0.2

export class Candidate {
  readonly #options: CandidateOptions
  readonly #lease: LeaseObject
  readonly #leaseHolder: LeaseHolder
  readonly #informer: ObjectInformer
  readonly #changes = new Notifier()
  #observation: LeaseObservation | undefined
  #holder: string | undefined
  /** Set if the operator may not watch the Lease, and has never seen it: `run` rejects with this error. */
  #forbiddenError: Error | undefined
  #failures = 0

  constructor(lease: LeaseObject, leaseHolder: LeaseHolder, options: CandidateOptions) {
    const { key, session, clock, random, watching } = options
    this.#lease = lease
    this.#leaseHolder = leaseHolder
    this.#options = options
    this.#informer = new ObjectInformer({
      session,
      clock,
      random,
      watching,
      resource: leases,
      ...key,
      onChange: (object) => {
        const record = object === null ? undefined : readRecord(object)
        this.#observation = observeLease(this.#observation, record, monotonicNow(clock))
        this.#changes.notify()
      },
      onWatchError: (error, attempt) => this.#handleWatchError(error, attempt),
    })
  }

  /** Resolves when this replica leads, or the signal is aborted. Rejects if the operator may not read or write the Lease. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController()
    const end = () => ended.abort(noLongerNeeded)
    signal.addEventListener('abort', end, { once: true, signal: ended.signal })
    if (signal.aborted) end()
    ended.signal.addEventListener('abort', () => this.#changes.notify(), { once: true })
    const watch = this.#informer.run(ended.signal)
    try {
      await this.#compete(ended.signal)
    } finally {
      end()
      await watch
    }
  }

  async #compete(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const decision = this.#decide()
      if (this.#forbiddenError !== undefined) throw this.#forbiddenError
      if (decision.type === 'observe') await this.#changes.wait(this.#options.clock, Infinity)
      else if (decision.type === 'wait') await this.#wait(decision)
      else if (await this.#tryToAcquire(decision.type, signal)) return
    }
  }

  #decide(): TakeoverDecision {
    const { clock, leaseDurationMs, retryPeriodMs } = this.#options
    return decideTakeover({
      observation: this.#observation,
      nowMs: monotonicNow(clock),
      attempts: this.#leaseHolder.attempts,
      leaseDurationMs,
      retryPeriodMs,
    })
  }

  async #wait({ untilMs, holder }: Extract<TakeoverDecision, { type: 'wait' }>): Promise<void> {
    const { clock, onWaiting } = this.#options
    this.#failures = 0
    if (holder !== undefined && holder !== this.#holder) onWaiting(holder)
    this.#holder = holder
    await this.#changes.wait(clock, Math.max(0, untilMs - monotonicNow(clock)))
  }

  async #tryToAcquire(type: 'create' | 'take', signal: AbortSignal): Promise<boolean> {
    const { clock, random, key } = this.#options
    try {
      if (type === 'take') {
        await clock.sleep(maxTakeDelayMs * random(), signal)
        if (this.#decide().type !== 'take') return false
      }
      const transitions = countTransition(this.#observation?.record)
      const replaced = type === 'take' ? (this.#informer.object ?? undefined) : undefined
      await this.#leaseHolder.acquire(replaced, transitions, signal)
      return true
    } catch (error) {
      if (isForbidden(error) && this.#holder === undefined) throw toForbiddenError(key, error)
      if (!signal.aborted) await this.#recover(error, signal)
      return false
    }
  }

  /** After the first conflict, reads the Lease and decides again at once. After any other failure, waits for the retry period. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, retryPeriodMs, logger, key } = this.#options
    this.#failures += 1
    const wasRead = isWriteRejected(error) && (await this.#tryToRead(signal))
    if (wasRead && this.#failures === 1) return
    if (!signal.aborted)
      logger.warn(`Cannot take the Lease ${key.namespace}/${key.name}: ${describeError(error)}; it is tried again`)
    await clock.sleep(addedJitter(retryJitter, random)(retryPeriodMs), signal).catch(() => {})
  }

  async #tryToRead(signal: AbortSignal): Promise<boolean> {
    try {
      this.#informer.replace((await this.#lease.read(this.#options.retryPeriodMs, signal)) ?? null)
      return true
    } catch {
      return false
    }
  }

  #handleWatchError(error: unknown, attempt: number): void {
    const { key, logger } = this.#options
    if (isForbidden(error) && this.#observation === undefined) {
      this.#forbiddenError = toForbiddenError(key, error)
      this.#changes.notify()
    } else if (attempt > 1 || this.#observation === undefined) {
      logger.warn(`Cannot watch the Lease ${key.namespace}/${key.name}: ${describeError(error)}; it is tried again`)
    }
  }
}
