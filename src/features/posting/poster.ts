/**
 * Posts events in the background: of one object in order and one at a time, of different objects side by side. Repeated
 * events are counted instead of posted again. Fed by recorder.ts and log-lines.ts; started and drained by running/.
 * Events are of help but never vital: whatever goes wrong is logged, and nobody waits for it.
 */
import type { Session } from '../../client/calls.ts'
import type { ObjectReference } from '../../kube/objects.ts'
import type { Clock } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import { createSharedController } from '../../util/shared-signal.ts'
import { untilAborted } from './abort.ts'
import { cutContent, type EventContent } from './event-body.ts'
import { EventWriter } from './event-writer.ts'
import { type Backoffs, type PostingSettings, toBackoffsMs } from './settings.ts'
import { Tallies, type Tally, toObjectKey } from './tally.ts'
import { TokenBuckets } from './token-buckets.ts'

interface EventToPost extends EventContent {
  /** `posting.defaultBackoffs` unless told. */
  readonly backoffs?: Backoffs | undefined
}

export interface Poster {
  /** Returns at once and never throws. Events of core `Event`s are not posted: they would never end. */
  post(reference: ObjectReference, event: EventToPost): void
  /** Posts until the signal is aborted, and ends when the last request has. */
  run(signal: AbortSignal): Promise<void>
  /** Sends at once what waits, and resolves when all is sent or given up, or when the signal is aborted. */
  drain(signal?: AbortSignal): Promise<void>
}

export interface PosterOptions {
  readonly session: Session
  readonly clock: Clock
  readonly settings: PostingSettings
  /** For events of objects that have no namespace; `default` where the connection has none either. */
  readonly defaultNamespace?: () => string | undefined
  readonly logger: Logger
}

export function createPoster(options: PosterOptions): Poster {
  return new BackgroundPoster(options)
}

const longestBacklog = 1000
const defaultWorkerLimit = 100
/** A repeated event is told no more often. */
const patchIntervalMs = 1000

class BackgroundPoster implements Poster {
  readonly #options: PosterOptions
  readonly #writer: EventWriter
  readonly #tallies = new Tallies()
  readonly #buckets = new TokenBuckets()

  /** What has no worker yet, oldest first; never more than `longestBacklog`. */
  readonly #waiting = new Set<Tally>()
  /** The objects that have a worker. */
  readonly #busy = new Set<string>()
  /** Workers, and repetitions that wait for their second. None of them rejects. */
  readonly #tasks = new Set<Promise<void>>()

  /** Undefined before `run` is called. */
  #running: AbortSignal | undefined
  /** Aborted to end the waiting of repetitions. */
  #hurry = createSharedController()
  #isOverflowing = false
  /** The objects whose events are being left out, told once. */
  readonly #muted = new Set<string>()

  constructor(options: PosterOptions) {
    this.#options = options
    this.#writer = new EventWriter(options)
  }

  post(reference: ObjectReference, event: EventToPost): void {
    if (this.#running?.aborted) return
    if (reference.apiVersion === 'v1' && reference.kind === 'Event') return
    const nowMs = this.#options.clock.now()
    const content = cutContent(event)
    const tally = this.#tallies.find(reference, content, nowMs) ?? this.#admit(reference, content, nowMs)
    if (tally === undefined) return
    if (tally.untold === 0) tally.untoldSinceMs = nowMs
    tally.untold += 1
    tally.lastMs = nowMs
    tally.backoffsMs = this.#toBackoffsMs(event.backoffs)
    this.#schedule(tally)
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#running = signal
    this.#hire()
    await untilAborted(signal)
    this.#hurry.abort()
    while (this.#tasks.size > 0) await Promise.all(this.#tasks)
    if (this.#waiting.size > 0) this.#options.logger.debug(`Stopped with ${this.#waiting.size} events not posted`)
    this.#waiting.clear()
  }

  async drain(signal?: AbortSignal): Promise<void> {
    while (this.#isRunning && !signal?.aborted && this.#tasks.size > 0) {
      this.#hurry.abort()
      this.#hurry = createSharedController()
      await untilAborted(signal, Promise.all(this.#tasks))
    }
  }

  get #isRunning(): boolean {
    return this.#running !== undefined && !this.#running.aborted
  }

  /** A setting that is no duration is told by whoever validates settings; an event must not fail for it. */
  #toBackoffsMs(backoffs: Backoffs | undefined): readonly number[] {
    try {
      return toBackoffsMs(backoffs ?? this.#options.settings.defaultBackoffs)
    } catch {
      return []
    }
  }

  #admit(reference: ObjectReference, content: EventContent, nowMs: number): Tally | undefined {
    if (!this.#hasToken(toObjectKey(reference), reference, nowMs)) return undefined
    return this.#tallies.add(reference, content, nowMs)
  }

  #hasToken(objectKey: string, reference: ObjectReference, nowMs: number): boolean {
    if (this.#buckets.take(objectKey, nowMs)) {
      this.#muted.delete(objectKey)
      return true
    }
    if (!this.#muted.has(objectKey)) {
      // Bounded by forgetting all: the worst is a debug line told twice.
      if (this.#muted.size >= longestBacklog) this.#muted.clear()
      this.#muted.add(objectKey)
      const { kind, namespace, name } = reference
      this.#options.logger.debug('Too many events of one object: leaving some out', { kind, namespace, name })
    }
    return false
  }

  #schedule(tally: Tally): void {
    if (tally.isScheduled) return
    tally.isScheduled = true
    if (tally.sentAtMs === undefined) this.#enqueue(tally)
    else this.#begin(this.#enqueueLater(tally, tally.sentAtMs + patchIntervalMs))
  }

  async #enqueueLater(tally: Tally, timeMs: number): Promise<void> {
    const { clock } = this.#options
    // The only reason to reject is that it should not wait any longer.
    await clock.sleep(Math.max(0, timeMs - clock.now()), this.#hurry.signal).catch(() => {})
    this.#enqueue(tally)
  }

  #enqueue(tally: Tally): void {
    this.#waiting.add(tally)
    this.#hire()
    if (this.#waiting.size <= longestBacklog) return
    const [oldest] = this.#waiting
    this.#waiting.delete(oldest!)
    oldest!.isScheduled = false
    if (!this.#isOverflowing) {
      this.#options.logger.warn(`More than ${longestBacklog} events wait to be posted: the oldest are left out`)
    }
    this.#isOverflowing = true
  }

  #hire(): void {
    if (!this.#isRunning) return
    const limit = Math.max(1, this.#options.settings.workerLimit ?? defaultWorkerLimit)
    for (const tally of this.#waiting) {
      if (this.#busy.size >= limit) return
      if (this.#busy.has(tally.objectKey)) continue
      this.#waiting.delete(tally)
      this.#busy.add(tally.objectKey)
      this.#begin(this.#work(tally, this.#running!))
    }
    if (this.#waiting.size === 0) this.#isOverflowing = false
  }

  #begin(task: Promise<void>): void {
    const tracked = task.finally(() => this.#tasks.delete(tracked))
    this.#tasks.add(tracked)
  }

  async #work(tally: Tally, signal: AbortSignal): Promise<void> {
    const nowMs = this.#options.clock.now()
    const isFirst = tally.sentAtMs === undefined
    // From here on, a repetition asks for a request of its own.
    tally.isScheduled = false
    // Without a token the repetitions stay untold, and are told together with the next that has one.
    if (isFirst || this.#hasToken(tally.objectKey, tally.reference, nowMs)) {
      tally.sentAtMs = nowMs
      await this.#writer.write(tally, signal)
    }
    this.#busy.delete(tally.objectKey)
    this.#hire()
  }
}
