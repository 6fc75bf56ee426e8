/**
 * Posts events in the background: one at a time per object, in order, and in parallel for different objects. Repeated events are counted
 * instead of posted again. Used by recorder.ts and log-events.ts; started and drained by the run. Events are not essential: failures are
 * logged, and no handler waits for a request.
 */
import type { Session } from '../client/session.ts'
import type { ObjectReference } from '../kube/objects.ts'
import type { Observer } from '../observer.ts'
import { untilAborted } from '../util/async/any-signal.ts'
import type { Clock } from '../util/async/clock.ts'
import { createSharedController } from '../util/async/shared-signal.ts'
import type { Logger, LogLevel } from '../util/log/log.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { runDetached } from '../util/tracing/open-telemetry.ts'
import { type AggregatedEvent, EventAggregation, TokenBuckets, toObjectKey } from './event-aggregation.ts'
import { type EventContent, truncateContent } from './event-body.ts'
import { EventWriter } from './event-writer.ts'

/** One duration for a single retry, or the delays between the attempts. */
type PostingBackoffs = Duration | Iterable<Duration>

/** The settings of posting. They are read at the moment of use, since users may change them. See `PostingSettings` in settings/groups.ts. */
export interface PosterSettings {
  readonly enabled: boolean
  readonly loggers: boolean
  readonly level: LogLevel
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly eventNamePrefix: string
  readonly defaultBackoffs: PostingBackoffs
  readonly loggingBackoffs: PostingBackoffs
  readonly workerLimit: number | null
}

interface EventToPost extends EventContent {
  /** Default: `posting.defaultBackoffs`. */
  readonly backoffs?: PostingBackoffs | undefined
}

export interface Poster {
  /** Returns immediately and never throws. Ignores events about Events: they would cause new events without end. */
  post(reference: ObjectReference, event: EventToPost): void
  /** Posts until the signal is aborted. Resolves when the last request has ended. */
  run(signal: AbortSignal): Promise<void>
  /** Sends all waiting events without delay. Resolves when all are sent or have failed, or when the signal is aborted. */
  drain(signal?: AbortSignal): Promise<void>
}

export interface PosterOptions {
  readonly session: Session
  readonly clock: Clock
  readonly settings: PosterSettings
  /** The namespace for events about cluster-scoped objects. Default: `default`. */
  readonly defaultNamespace?: () => string | undefined
  readonly logger: Logger
  readonly observer?: Observer | undefined
}

export function createPoster(options: PosterOptions): Poster {
  return new BackgroundPoster(options)
}

const maxQueued = 1000
const defaultWorkerLimit = 100
/** The minimum time between two requests for one event. */
const patchIntervalMs = 1000

class BackgroundPoster implements Poster {
  readonly #options: PosterOptions
  readonly #writer: EventWriter
  readonly #aggregation = new EventAggregation()
  readonly #buckets = new TokenBuckets()

  /** Events without a worker, oldest first; at most `maxQueued`. */
  readonly #waiting = new Set<AggregatedEvent>()
  /** The keys of objects that have a worker. */
  readonly #busy = new Set<string>()
  /** Running workers, and repetitions that wait for `patchIntervalMs`. The promises never reject. */
  readonly #tasks = new Set<Promise<void>>()

  /** Undefined before `run` is called. */
  #running: AbortSignal | undefined
  /** Aborted to end the waiting of repetitions immediately. */
  #flushing = createSharedController()
  #isOverflowing = false
  /** Keys of objects that exceed the rate limit, and for which that is logged already. */
  readonly #rateLimited = new Set<string>()

  constructor(options: PosterOptions) {
    this.#options = options
    this.#writer = new EventWriter(options)
  }

  post(reference: ObjectReference, event: EventToPost): void {
    if (this.#running?.aborted) return
    if (reference.apiVersion === 'v1' && reference.kind === 'Event') return
    const nowMs = this.#options.clock.now()
    const content = truncateContent(event)
    const aggregated = this.#aggregation.find(reference, content, nowMs) ?? this.#aggregate(reference, content, nowMs)
    if (aggregated === undefined) return
    if (aggregated.pendingCount === 0) aggregated.pendingSinceMs = nowMs
    aggregated.pendingCount += 1
    aggregated.lastMs = nowMs
    aggregated.backoffsMs = this.#toBackoffsMs(event.backoffs)
    this.#schedule(aggregated)
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal
    this.#startWorkers()
    await untilAborted(signal)
    this.#flushing.abort()
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
    if (this.#waiting.size > 0) this.#options.logger.debug(`Stopped with ${this.#waiting.size} events not posted`)
    this.#waiting.clear()
  }

  async drain(signal?: AbortSignal): Promise<void> {
    while (this.#isRunning && !signal?.aborted && this.#tasks.size > 0) {
      this.#flushing.abort()
      this.#flushing = createSharedController()
      await untilAborted(signal, Promise.all(this.#tasks))
    }
  }

  get #isRunning(): boolean {
    return this.#running !== undefined && !this.#running.aborted
  }

  /** An invalid duration in a user's iterable must not make an event fail: the event is then posted without retries. */
  #toBackoffsMs(backoffs: PostingBackoffs | undefined): readonly number[] {
    try {
      return toBackoffsMs(backoffs ?? this.#options.settings.defaultBackoffs)
    } catch {
      return []
    }
  }

  #aggregate(reference: ObjectReference, content: EventContent, nowMs: number): AggregatedEvent | undefined {
    if (!this.#hasToken(toObjectKey(reference), reference, nowMs)) return undefined
    return this.#aggregation.add(reference, content, nowMs)
  }

  #hasToken(objectKey: string, reference: ObjectReference, nowMs: number): boolean {
    if (this.#buckets.take(objectKey, nowMs)) {
      this.#rateLimited.delete(objectKey)
      return true
    }
    if (!this.#rateLimited.has(objectKey)) {
      // Clearing the set limits its size; the worst consequence is a repeated debug line.
      if (this.#rateLimited.size >= maxQueued) this.#rateLimited.clear()
      this.#rateLimited.add(objectKey)
      const { kind, namespace, name } = reference
      this.#options.logger.debug('Too many events of one object: leaving some out', { kind, namespace, name })
    }
    return false
  }

  #schedule(aggregated: AggregatedEvent): void {
    if (aggregated.isScheduled) return
    aggregated.isScheduled = true
    if (aggregated.sentAtMs === undefined) this.#enqueue(aggregated)
    else this.#track(this.#enqueueLater(aggregated, aggregated.sentAtMs + patchIntervalMs))
  }

  async #enqueueLater(aggregated: AggregatedEvent, timeMs: number): Promise<void> {
    const { clock } = this.#options
    // The sleep rejects only when the waiting should end.
    await clock.sleep(Math.max(0, timeMs - clock.now()), this.#flushing.signal).catch(() => {})
    this.#enqueue(aggregated)
  }

  #enqueue(aggregated: AggregatedEvent): void {
    this.#waiting.add(aggregated)
    this.#startWorkers()
    if (this.#waiting.size <= maxQueued) return
    const [oldest] = this.#waiting
    this.#waiting.delete(oldest!)
    oldest!.isScheduled = false
    if (!this.#isOverflowing) {
      this.#options.logger.warn(`More than ${maxQueued} events wait to be posted: the oldest are left out`)
    }
    this.#isOverflowing = true
  }

  #startWorkers(): void {
    if (!this.#isRunning) return
    const limit = Math.max(1, this.#options.settings.workerLimit ?? defaultWorkerLimit)
    for (const aggregated of this.#waiting) {
      if (this.#busy.size >= limit) return
      if (this.#busy.has(aggregated.objectKey)) continue
      this.#waiting.delete(aggregated)
      this.#busy.add(aggregated.objectKey)
      // A request about the event is no part of the handler call that has recorded it.
      this.#track(runDetached(() => this.#postNext(aggregated, this.#running!)))
    }
    if (this.#waiting.size === 0) this.#isOverflowing = false
  }

  #track(task: Promise<void>): void {
    const tracked = task.finally(() => this.#tasks.delete(tracked))
    this.#tasks.add(tracked)
  }

  async #postNext(aggregated: AggregatedEvent, signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.now()
    const isFirst = aggregated.sentAtMs === undefined
    // From here on, a repetition schedules its own request.
    aggregated.isScheduled = false
    // Without a token, the occurrences stay pending and are posted together with a later one.
    if (isFirst || this.#hasToken(aggregated.objectKey, aggregated.reference, nowMs)) {
      aggregated.sentAtMs = nowMs
      await this.#writer.write(aggregated, signal)
    }
    this.#busy.delete(aggregated.objectKey)
    this.#startWorkers()
  }
}

/** Retries of one event. The setting may be an infinite iterable, which must not be read to its end. */
const maxRetries = 100

function toBackoffsMs(backoffs: PostingBackoffs): number[] {
  const list: number[] = []
  for (const one of typeof backoffs === 'object' ? backoffs : [backoffs]) {
    if (list.push(toMs(one, 'a back-off of posting')) === maxRetries) break
  }
  return list
}
