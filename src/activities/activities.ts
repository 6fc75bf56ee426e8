/** Calls the activity handlers (startup, cleanup, login, probe) with their arguments. run.ts decides when each of them runs. */
import type { LoginOutcome } from '../client/auth/authenticator.ts'
import type { Client } from '../client/client.ts'
import type { Indices } from '../handlers/args/args.ts'
import { createHandlerClock, type HandlerClock } from '../handlers/args/handler-clock.ts'
import type { Metrics } from '../handlers/args/metrics.ts'
import { type Workers, workersKey } from '../handlers/args/workers.ts'
import type { ActivityType } from '../handlers/handler-types.ts'
import type { Registry } from '../handlers/registry.ts'
import type { Watchdog } from '../handlers/watchdog.ts'
import type { Observer } from '../observer.ts'
import type { Settings } from '../settings/settings.ts'
import type { Clock } from '../util/async/clock.ts'
import { createLogger, type LogSink, toHandlerLogger } from '../util/log/log.ts'
import { toMs } from '../util/text/duration.ts'
import type { Tracing } from '../util/tracing/spans.ts'
import { callLoginHandlers, createUnavailableClient } from './login.ts'
import { Probes } from './probes.ts'
import { type RunActivityOptions, requireActivities } from './run-activity.ts'

/** The parts of an operator that its activities need. */
type ActivityDefinition = {
  readonly registry: Registry
  readonly settings: Settings
  readonly memo: object
}

export interface ActivitiesOptions {
  readonly definition: ActivityDefinition
  readonly clock: Clock
  readonly sink: LogSink
  readonly watchdog: Watchdog
  readonly indices: Indices
  readonly metrics: Metrics
  readonly workers: Workers
  readonly observer: Observer
  readonly tracing: Tracing
  readonly client: () => Client
}

/** The names of the loggers, as in Kopf. */
const titles: Readonly<Record<ActivityType, string>> = {
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

  /** Rejects if one of the handlers fails permanently. */
  run(type: 'startup' | 'cleanup', signal: AbortSignal): Promise<void> {
    return requireActivities(this.#handlers(type), this.#optionsOf(type, signal))
  }

  get hasLogin(): boolean {
    return this.#handlers('login').length > 0
  }

  login(signal: AbortSignal): Promise<LoginOutcome> {
    return callLoginHandlers(this.#handlers('login'), this.#optionsOf('login', signal, createUnavailableClient()))
  }

  probes(signal: AbortSignal): Probes {
    return new Probes(this.#handlers('probe'), this.#optionsOf('probe', signal))
  }

  #handlers(type: ActivityType) {
    return this.#options.definition.registry.activities(type)
  }

  #optionsOf(type: ActivityType, signal: AbortSignal, client: Client = this.#options.client()): RunActivityOptions {
    const { definition, clock, sink, watchdog, indices, metrics, workers, observer, tracing } = this.#options
    const { settings, memo } = definition
    const logger = createLogger(sink, `kopf.activities.${titles[type]}`)
    return {
      clock,
      logger,
      watch: watchdog.watchOf(),
      observer,
      // Probes are called every few seconds, and a login is a part of the request that needs it.
      tracing: type === 'startup' || type === 'cleanup' ? tracing : undefined,
      defaultBackoffMs: toMs(settings.execution.defaultBackoff),
      signal,
      args: {
        settings,
        memo,
        logger: toHandlerLogger(logger),
        client,
        indices,
        metrics,
        clock: this.#clock,
        now: this.#clock.date,
        [workersKey]: workers,
      },
    }
  }
}
