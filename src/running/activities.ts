/** The operator's own handlers, with all that they are given: who runs when is for run.ts to say. */
import type { Client } from '../client/client.ts'
import type { Indices } from '../core/handling/args.ts'
import { createHandlerClock, type HandlerClock } from '../core/handling/handler-clock.ts'
import type { ActivityKind } from '../core/handling/kinds.ts'
import { type Workers, workersKey } from '../core/handling/workers.ts'
import { askLoginHandlers, createRefusingClient, type LoginOutcome } from '../features/activities/login.ts'
import { Probes } from '../features/activities/probes.ts'
import { type ActivityOptions, requireActivities } from '../features/activities/run.ts'
import type { Clock } from '../util/clock.ts'
import { toMs } from '../util/duration.ts'
import { createLogger, type LogSink, toHandlerLogger } from '../util/log.ts'
import type { Blueprint } from './run-options.ts'
import type { Watchdog } from './watchdog.ts'

export interface ActivitiesOptions {
  readonly blueprint: Blueprint
  readonly clock: Clock
  readonly sink: LogSink
  readonly watchdog: Watchdog
  readonly indices: Indices
  readonly workers: Workers
  readonly client: () => Client
}

/** Loggers are named as in Kopf. */
const titles: Readonly<Record<ActivityKind, string>> = {
  startup: 'startup',
  cleanup: 'cleanup',
  login: 'authentication',
  probe: 'probe',
}

export class Activities {
  readonly #options: ActivitiesOptions
  readonly #clock: HandlerClock

  constructor(options: ActivitiesOptions) {
    this.#options = options
    this.#clock = createHandlerClock(options.clock, { isWaitedFor: true })
  }

  /** All have to succeed. */
  run(kind: 'startup' | 'cleanup', signal: AbortSignal): Promise<void> {
    return requireActivities(this.#handlers(kind), this.#optionsOf(kind, signal))
  }

  get hasLogin(): boolean {
    return this.#handlers('login').length > 0
  }

  login(signal: AbortSignal): Promise<LoginOutcome> {
    return askLoginHandlers(this.#handlers('login'), this.#optionsOf('login', signal, createRefusingClient()))
  }

  probes(signal: AbortSignal): Probes {
    return new Probes(this.#handlers('probe'), this.#optionsOf('probe', signal))
  }

  #handlers(kind: ActivityKind) {
    return this.#options.blueprint.registry.activities(kind)
  }

  #optionsOf(kind: ActivityKind, signal: AbortSignal, client: Client = this.#options.client()): ActivityOptions {
    const { blueprint, clock, sink, watchdog, indices, workers } = this.#options
    const { settings, memo } = blueprint
    const logger = createLogger(sink, `kopf.activities.${titles[kind]}`)
    return {
      clock,
      logger,
      watch: watchdog.watchOf(),
      defaultBackoffMs: toMs(settings.execution.defaultBackoff),
      signal,
      args: {
        settings,
        memo,
        logger: toHandlerLogger(logger),
        client,
        indices,
        clock: this.#clock,
        [workersKey]: workers,
      },
    }
  }
}
