/**
 * Says whether this replica is the leader; without `settings.election.enabled`, every replica is. The queue checks it before it starts a worker, and
 * the session before it sends a write: both compare the clock, since a timer could fire too late. Created, started and ended by src/run.
 */
import type { ApiCall, Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import type { LeaderStatus } from '../objects/context.ts'
import type { Observer } from '../observer.ts'
import type { Settings } from '../settings/settings.ts'
import { type Clock, monotonicNow, noLongerNeeded } from '../util/async/clock.ts'
import { Latch } from '../util/async/latch.ts'
import { TaskGroup } from '../util/async/task-group.ts'
import { withTimeout } from '../util/async/with-timeout.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { stoppingMs } from '../util/stopping-times.ts'
import { type ElectionOptions, toElectionOptions } from './election-settings.ts'
import { Elector } from './elector.ts'
import { holderName } from './lease.ts'

export interface LeadershipOptions {
  readonly settings: Settings
  /** The name of the operator: the default name of the Lease. */
  readonly name: string | undefined
  readonly identity: () => Promise<string>
  readonly session: () => Session
  readonly clock: Clock
  readonly logger: Logger
  readonly observer: Observer
  readonly onFailure: (error: unknown) => void
}

export class Leadership implements LeaderStatus {
  readonly #options: LeadershipOptions
  readonly #tasks: TaskGroup
  readonly #lost = new AbortController()
  readonly #leaderKnown = new Latch()
  #elector: Elector | undefined
  #hasWaited = false
  #tookOverAt: string | undefined
  #hasEnded = false

  constructor(options: LeadershipOptions) {
    this.#options = options
    this.#tasks = new TaskGroup((error) => this.#handleFailure(error))
  }

  get isLeading(): boolean {
    return this.#elector === undefined || this.#isBefore(this.#elector.leadsUntilMs ?? -Infinity)
  }

  get isCandidate(): boolean {
    return this.#elector !== undefined && this.#elector.leadsUntilMs === undefined
  }

  get tookOverAt(): string | undefined {
    return this.#tookOverAt
  }

  /** Aborted when this replica has lost the Lease while it led. A release at the regular end does not abort it. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Starts the election. Called after the startup handlers, which may change the settings. `namespace` is the one in which the operator runs. */
  async start(namespace: string | undefined): Promise<void> {
    const { settings, name } = this.#options
    if (!settings.election.enabled) {
      this.#leaderKnown.open()
      return
    }
    this.#report('awaited')
    const election = toElectionOptions(settings.election, { name, namespace })
    this.#elector = this.#createElector(election, await this.#options.identity())
    this.#tasks.run((signal) => this.#elector!.run(signal))
  }

  /** Resolves when it is known who leads, or the signal is aborted. Objects are listed after that, so that a new leader does not start with states from before. */
  async waitForLeader(signal: AbortSignal): Promise<void> {
    await this.#leaderKnown.wait(signal).catch(() => {})
  }

  /** Guards writes that only the leader sends: the returned function throws once the leadership has ended, also after a release. */
  guardOf({ method, path }: ApiCall): (() => void) | undefined {
    if (method === 'GET' || this.#elector === undefined) return undefined
    return () => {
      if (!this.#isBefore(this.#elector?.leadsUntilMs ?? Infinity)) throw toLeadershipError(method, path)
    }
  }

  /** Guards writes that every replica sends, and those of the Lease: the returned function throws after a loss of the Lease, but not after a release. */
  commonGuardOf({ method, path }: ApiCall): (() => void) | undefined {
    if (method === 'GET' || this.#elector === undefined) return undefined
    return () => {
      const hasLost = !this.#hasEnded && !this.#isBefore(this.#elector?.leadsUntilMs ?? Infinity)
      if (hasLost || this.#lost.signal.aborted) throw toLeadershipError(method, path)
    }
  }

  /**
   * Ends the election after the last write. Releases the Lease, so that a candidate can lead at once, unless a handler still runs (`isIdle` is false):
   * then the Lease expires by itself, so that the next leader does not call the same handler at the same time.
   */
  async end({ isIdle }: { readonly isIdle: boolean }): Promise<void> {
    await this.#tasks.stop()
    const hadLed = this.#elector !== undefined && this.isLeading
    this.#hasEnded = true
    if (!hadLed) return
    const { logger } = this.#options
    if (isIdle) await this.#release()
    else logger.warn('The Lease is not released and expires by itself: a handler, daemon or timer has not ended.')
  }

  async #release(): Promise<void> {
    const { clock, logger } = this.#options
    const limit = new AbortController()
    try {
      await withTimeout(clock, stoppingMs.releaseLease, this.#elector?.release(limit.signal))
      logger.info('The Lease is released: another replica can lead now.')
    } catch (error) {
      logger.warn(`The Lease cannot be released and expires by itself: ${describeError(error)}`)
    } finally {
      limit.abort(noLongerNeeded)
    }
  }

  #createElector(election: ElectionOptions, identity: string): Elector {
    const { settings, session, clock, logger } = this.#options
    const { namespace, name } = election.key
    return new Elector({
      ...election,
      identity,
      session: session(),
      clock,
      logger,
      random: Math.random,
      watching: settings.watching,
      onWaiting: (holder) => {
        const same = 'the same identity as this replica: an earlier run, or another replica that needs its own identity'
        logger.info(
          `Waiting to lead: the Lease ${namespace}/${name} is held by ${holderName(holder)}${holder === identity ? `, ${same}` : ''}.`,
        )
        this.#hasWaited = true
        this.#report('candidate')
        this.#leaderKnown.open()
      },
      onLeading: (version) => {
        logger.info(`This replica is the leader now: "${identity}" holds the Lease ${namespace}/${name}.`)
        if (this.#hasWaited) this.#tookOverAt = version
        this.#leaderKnown.open()
        this.#report('leading')
      },
    })
  }

  #handleFailure(error: unknown): void {
    const { onFailure } = this.#options
    if (this.#elector?.leadsUntilMs !== undefined) {
      this.#report('lost')
      this.#lost.abort(error)
    }
    onFailure(error)
  }

  #report(state: 'awaited' | 'candidate' | 'leading' | 'lost'): void {
    this.#options.observer.leadershipChanged?.({ state })
  }

  #isBefore(untilMs: number): boolean {
    return monotonicNow(this.#options.clock) < untilMs
  }
}

function toLeadershipError(method: string, path: string): KopfError {
  return new KopfError(
    'KOPF_LEADERSHIP',
    `Cannot ${method} ${path}: this replica does not hold the Lease any more, and another replica may lead`,
  )
}
