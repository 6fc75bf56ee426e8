/**
 * Whether this replica may work, where `settings.election` says that only one may: what stands between the Lease and everything
 * else. The queue asks before it hires, the session before it sends; both by the clock, since a timer may come too late.
 * Without an election everybody leads. Made, started and ended by run.ts.
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
  /** Of the operator. */
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
  readonly #fallen = new AbortController()
  readonly #looked = new Latch()
  #elector: Elector | undefined
  #hasWaited = false
  #tookOverAt: string | undefined
  #hasEnded = false

  constructor(options: LeadershipOptions) {
    this.#options = options
    this.#tasks = new TaskGroup((error) => this.#fall(error))
  }

  get isLeading(): boolean {
    return this.#elector === undefined || this.#isWithin(this.#elector.leadsUntilMs ?? -Infinity)
  }

  get isStandingBy(): boolean {
    return this.#elector !== undefined && this.#elector.leadsUntilMs === undefined
  }

  get tookOverAt(): string | undefined {
    return this.#tookOverAt
  }

  /** Aborted when this replica has led and leads no more, against its will. */
  get fallen(): AbortSignal {
    return this.#fallen.signal
  }

  /** After the start-up handlers, which may have changed the settings; `namespace` is where the operator runs. */
  async start(namespace: string | undefined): Promise<void> {
    const { settings, name } = this.#options
    if (!settings.election.enabled) {
      this.#looked.open()
      return
    }
    this.#report('awaited')
    const election = toElectionOptions(settings.election, { name, namespace })
    this.#elector = this.#createElector(election, await this.#options.identity())
    this.#tasks.run((signal) => this.#elector!.run(signal))
  }

  /** Resolves when it is known for the first time whether we lead: what is listed then is not older than that. */
  async looked(signal: AbortSignal): Promise<void> {
    await this.#looked.wait(signal).catch(() => {})
  }

  /** For what only the leader does: it may not be done any more once it leads no more, for whatever reason. */
  guardOf({ method, path }: ApiCall): (() => void) | undefined {
    if (method === 'GET' || this.#elector === undefined) return undefined
    return () => {
      if (!this.#isWithin(this.#elector?.leadsUntilMs ?? Infinity)) throw tooLate(method, path)
    }
  }

  /** For what every replica does, and the Lease itself: who has given it back may go on, who has lost it may not. */
  commonGuardOf({ method, path }: ApiCall): (() => void) | undefined {
    if (method === 'GET' || this.#elector === undefined) return undefined
    return () => {
      const hasLost = !this.#hasEnded && !this.#isWithin(this.#elector?.leadsUntilMs ?? Infinity)
      if (hasLost || this.#fallen.signal.aborted) throw tooLate(method, path)
    }
  }

  /**
   * When all is written that is to be: the next one may begin at once. But not while a function of the user is still at work, on
   * objects that the next one would call it for: then the Lease runs out by itself.
   */
  async end({ isIdle }: { readonly isIdle: boolean }): Promise<void> {
    await this.#tasks.stop()
    const hadLed = this.#elector !== undefined && this.isLeading
    this.#hasEnded = true
    if (!hadLed) return
    const { logger } = this.#options
    if (isIdle) await this.#release()
    else logger.warn('The Lease is not released, but left to run out: a handler, daemon or timer has not ended.')
  }

  async #release(): Promise<void> {
    const { clock, logger } = this.#options
    const limit = new AbortController()
    try {
      await withTimeout(clock, stoppingMs.releaseLease, this.#elector?.release(limit.signal))
      logger.info('The Lease is released: another replica can lead now.')
    } catch (error) {
      logger.warn(`The Lease cannot be released, and is left to run out: ${describeError(error)}`)
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
        const same = 'the same identity as ours: an earlier run, or another replica that should have its own'
        logger.info(
          `Standing by: the Lease ${namespace}/${name} is held by ${holderName(holder)}${holder === identity ? `, ${same}` : ''}.`,
        )
        this.#hasWaited = true
        this.#report('candidate')
        this.#looked.open()
      },
      onLeading: (version) => {
        logger.info(`This replica is the leader now: "${identity}" holds the Lease ${namespace}/${name}.`)
        if (this.#hasWaited) this.#tookOverAt = version
        this.#looked.open()
        this.#report('leading')
      },
    })
  }

  #fall(error: unknown): void {
    const { onFailure } = this.#options
    if (this.#elector?.leadsUntilMs !== undefined) {
      this.#report('lost')
      this.#fallen.abort(error)
    }
    onFailure(error)
  }

  #report(state: 'awaited' | 'candidate' | 'leading' | 'lost'): void {
    this.#options.observer.leadershipChanged?.({ state })
  }

  #isWithin(untilMs: number): boolean {
    return monotonicNow(this.#options.clock) < untilMs
  }
}

function tooLate(method: string, path: string): KopfError {
  return new KopfError(
    'KOPF_LEADERSHIP',
    `Cannot ${method} ${path}: this replica does not hold the Lease any more, and another one may be at work`,
  )
}
