/**
 * One who waits for its turn: watches the Lease, and takes it when nobody holds it any more. One watch, and no request beside it
 * until there is something to take. What may be taken is for judge.ts to say.
 */
import { isForbidden } from '../../client/api-error.ts'
import { describeError } from '../../core/handling/outcomes.ts'
import type { ReflectedEvent } from '../../core/watching/events.ts'
import type { WatchState } from '../../core/watching/observer.ts'
import { type ReflectOptions, reflect } from '../../core/watching/reflect.ts'
import { isOlder } from '../../core/watching/versions.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { Bell } from '../../util/bell.ts'
import { monotonicOf, noLongerNeeded } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import type { Claim } from './claim.ts'
import { type Decision, decide, look, type Sight } from './judge.ts'
import { isOutrun, type LeaseKey, type LeaseObject, leases } from './lease-object.ts'
import { countTransition, readRecord } from './record.ts'
import { forbidden } from './words.ts'

export interface StandByOptions extends Pick<ReflectOptions, 'session' | 'clock' | 'watching'> {
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

export class StandBy {
  readonly #options: StandByOptions
  readonly #lease: LeaseObject
  readonly #claim: Claim
  readonly #news = new Bell()
  #sight: Sight | undefined
  /** As it was seen last, to be written over; undefined where it is not there. */
  #seen: KubeObject | undefined
  #version: string | undefined
  /** Whether the list that is being read has had it. */
  #isListed = false
  #holder: string | undefined
  /** Why we cannot look, where we never could. */
  #blindness: Error | undefined
  #failures = 0

  constructor(lease: LeaseObject, claim: Claim, options: StandByOptions) {
    this.#lease = lease
    this.#claim = claim
    this.#options = options
  }

  /** Resolves when we lead, or the signal is aborted. Rejects where it is forbidden from the first look on. */
  async run(signal: AbortSignal): Promise<void> {
    const { key, session, clock, random, watching } = this.#options
    const taken = new AbortController()
    const stop = () => taken.abort(noLongerNeeded)
    signal.addEventListener('abort', stop, { once: true, signal: taken.signal })
    if (signal.aborted) stop()
    taken.signal.addEventListener('abort', () => this.#news.ring(), { once: true })
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

  #decide(): Decision {
    const { clock, leaseDurationMs, retryPeriodMs } = this.#options
    const nowMs = monotonicOf(clock)
    return decide({ sight: this.#sight, nowMs, attempts: this.#claim.attempts, leaseDurationMs, retryPeriodMs })
  }

  async #wait({ untilMs, holder }: Extract<Decision, { type: 'wait' }>): Promise<void> {
    const { clock, onWaiting } = this.#options
    this.#failures = 0
    if (holder !== undefined && holder !== this.#holder) onWaiting(holder)
    this.#holder = holder
    await this.#news.wait(clock, Math.max(0, untilMs - monotonicOf(clock)))
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
      this.#news.ring()
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
    this.#sight = look(this.#sight, lease && readRecord(lease), monotonicOf(clock))
    this.#news.ring()
  }
}
