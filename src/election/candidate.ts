/**
 * One who waits for its turn: watches the Lease, and takes it when nobody holds it any more. One watch, and no request beside it
 * until there is something to take. What may be taken is for takeover-decision.ts to say.
 */
import { isForbidden } from '../client/api-error.ts'
import type { KubeObject } from '../kube/objects.ts'
import { monotonicNow, noLongerNeeded } from '../util/async/clock.ts'
import { Notifier } from '../util/async/latch.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { type ReflectOptions, reflect } from '../watching/reflector.ts'
import { isOlder } from '../watching/resource-version.ts'
import type { ReflectedEvent } from '../watching/watch-events.ts'
import type { WatchState } from '../watching/watch-observer.ts'
import { countTransition, forbidden, isOutrun, type LeaseKey, type LeaseObject, leases, readRecord } from './lease.ts'
import type { LeaseHolder } from './lease-holder.ts'
import { decideTakeover, type LeaseObservation, observeLease, type TakeoverDecision } from './takeover-decision.ts'

export interface CandidateOptions extends Pick<ReflectOptions, 'session' | 'clock' | 'watching'> {
  readonly key: LeaseKey
  readonly random: () => number
  readonly logger: Logger
  readonly leaseDurationMs: number
  readonly retryPeriodMs: number
  /** Told each time it is another one that we stand by for. */
  readonly onWaiting: (holder: string) => void
}

/** Of those who all see at once that it is free, the first one mostly is alone: the others have seen by then that it is not. */
const spreadMs = 100
/** Attempts after failures are spread by so much, as client-go spreads them. */
const jitter = 0.2

export class Candidate {
  readonly #options: CandidateOptions
  readonly #lease: LeaseObject
  readonly #claim: LeaseHolder
  readonly #news = new Notifier()
  #sight: LeaseObservation | undefined
  /** As it was seen last, to be written over; undefined where it is not there. */
  #seen: KubeObject | undefined
  #version: string | undefined
  /** Whether the list that is being read has had it. */
  #isListed = false
  #holder: string | undefined
  /** Why we cannot look, where we never could. */
  #blindness: Error | undefined
  #failures = 0

  constructor(lease: LeaseObject, holder: LeaseHolder, options: CandidateOptions) {
    this.#lease = lease
    this.#claim = holder
    this.#options = options
  }

  /** Resolves when we lead, or the signal is aborted. Rejects where it is forbidden from the first look on. */
  async run(signal: AbortSignal): Promise<void> {
    const { key, session, clock, random, watching } = this.#options
    const taken = new AbortController()
    const stop = () => taken.abort(noLongerNeeded)
    signal.addEventListener('abort', stop, { once: true, signal: taken.signal })
    if (signal.aborted) stop()
    taken.signal.addEventListener('abort', () => this.#news.notify(), { once: true })
    const observer = { watchStateChanged: (state: WatchState) => this.#follow(state), watchWarned: () => {} }
    const scope = {
      resource: leases,
      namespace: key.namespace,
      selectors: { fieldSelector: `metadata.name=${key.name}` },
    }
    const watch = reflect(
      { session, clock, random, watching, observer, ...scope },
      (event) => this.#take(event),
      taken.signal,
    )
    try {
      await this.#contend(taken.signal)
    } finally {
      stop()
      await watch
    }
  }

  async #contend(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const decision = this.#decide()
      if (this.#blindness !== undefined) throw this.#blindness
      if (decision.type === 'look') await this.#news.wait(this.#options.clock, Infinity)
      else if (decision.type === 'wait') await this.#wait(decision)
      else if (await this.#try(decision.type, signal)) return
    }
  }

  #decide(): TakeoverDecision {
    const { clock, leaseDurationMs, retryPeriodMs } = this.#options
    const nowMs = monotonicNow(clock)
    return decideTakeover({ sight: this.#sight, nowMs, attempts: this.#claim.attempts, leaseDurationMs, retryPeriodMs })
  }

  async #wait({ untilMs, holder }: Extract<TakeoverDecision, { type: 'wait' }>): Promise<void> {
    const { clock, onWaiting } = this.#options
    this.#failures = 0
    if (holder !== undefined && holder !== this.#holder) onWaiting(holder)
    this.#holder = holder
    await this.#news.wait(clock, Math.max(0, untilMs - monotonicNow(clock)))
  }

  async #try(type: 'create' | 'take', signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#options
    try {
      if (type === 'take') {
        await clock.sleep(spreadMs * random(), signal)
        if (this.#decide().type !== 'take') return false
      }
      const transitions = countTransition(this.#sight?.record)
      await this.#claim.acquire(type === 'take' ? this.#seen : undefined, transitions, signal)
      return true
    } catch (error) {
      if (isForbidden(error) && this.#holder === undefined) throw forbidden(this.#options.key, error)
      if (!signal.aborted) await this.#recover(error, signal)
      return false
    }
  }

  /** Whoever was outrun looks at once who it was; anything else may pass by itself, and is given time. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, retryPeriodMs, logger, key } = this.#options
    this.#failures += 1
    const hasLooked = isOutrun(error) && (await this.#look(signal))
    if (hasLooked && this.#failures === 1) return
    if (!signal.aborted)
      logger.warn(`Cannot take the Lease ${key.namespace}/${key.name}: ${describeError(error)}; it is tried again`)
    await clock.sleep(retryPeriodMs * (1 + jitter * random()), signal).catch(() => {})
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    try {
      this.#see(await this.#lease.read(this.#options.retryPeriodMs, signal))
      return true
    } catch {
      return false
    }
  }

  #follow(state: WatchState): void {
    if (state.type !== 'broken') return
    const { key, logger } = this.#options
    if (isForbidden(state.error) && this.#sight === undefined) {
      this.#blindness = forbidden(key, state.error)
      this.#news.notify()
    } else if (state.attempt > 1 || this.#sight === undefined) {
      logger.warn(
        `Cannot watch the Lease ${key.namespace}/${key.name}: ${describeError(state.error)}; it is tried again`,
      )
    }
  }

  /** A list tells the truth whatever was seen before: the cluster may be one that was restored from a backup. */
  #take(event: ReflectedEvent): void {
    if (event.type === 'listed') {
      if (!this.#isListed) this.#see(undefined)
      this.#isListed = false
    } else if (event.type === 'deleted') {
      if (event.missed || !isOlder(event.object.metadata.resourceVersion, this.#version)) this.#see(undefined)
    } else {
      const isListed = event.event === null
      this.#isListed ||= isListed
      if (isListed || !isOlder(event.object.metadata.resourceVersion, this.#version)) this.#see(event.object)
    }
  }

  #see(lease: KubeObject | undefined): void {
    const { clock } = this.#options
    this.#seen = lease
    this.#version = lease?.metadata.resourceVersion
    this.#sight = observeLease(this.#sight, lease && readRecord(lease), monotonicNow(clock))
    this.#news.notify()
  }
}
