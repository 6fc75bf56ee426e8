/**
 * Watches one resource in one scope: delivers the existing objects, then a `listed` event, then every change, until the signal is
 * aborted. After a failure it continues from the last version; if that has expired, it lists again and reports missed deletions.
 * Called by stream-pool.ts, cluster/ and the test kit. It keeps no objects and knows no handlers.
 */
import { setMaxListeners } from 'node:events'
import { fromStatus } from '../client/api-error.ts'
import { collectionPath } from '../client/paths.ts'
import type { ApiCall, Session } from '../client/session.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { type Clock, monotonicNow } from '../util/async/clock.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import type { WatchSelectors } from './label-pushdown.ts'
import { readPages } from './list.ts'
import { listQuery, metadataForms, metadataKind, timeoutSecondsOf, watchQuery } from './queries.ts'
import { isOlder } from './resource-version.ts'
import { type RetryDecision, type WatchAttempt, WatchRetryPolicy } from './retry-policy.ts'
import { KnownObjects, ObjectStore } from './store.ts'
import { laggingServer, malformedLine, noInitialEnd } from './watch-errors.ts'
import { parseWatchLine, type ReflectedEvent } from './watch-events.ts'
import type { WatchObserver, WatchScope, WatchState } from './watch-observer.ts'
import { readStream } from './watch-stream.ts'

/** The part of `settings.watching` that a reflector reads. It is read for each request, so that changes take effect. */
export interface ReflectSettings {
  readonly serverTimeout: Duration | null
  readonly clientTimeout?: Duration | null
  readonly connectTimeout?: Duration | null
  readonly reconnectBackoff: Duration
  readonly inactivityTimeout: Duration | null
  readonly chunkSize: number | null
  readonly initialStreaming: boolean
}

export interface ReflectOptions {
  readonly session: Session
  readonly clock: Clock
  readonly resource: Resource
  /** Undefined for the whole cluster. */
  readonly namespace: string | undefined
  readonly watching: ReflectSettings
  readonly selectors?: WatchSelectors
  /** Requests only the metadata of the objects, for resources whose objects are large and not needed whole. Default: false. */
  readonly metadataOnly?: boolean
  /** Keeps `metadata.managedFields` in the delivered objects. Default: false, because it is large and rarely needed. */
  readonly keepsManagedFields?: boolean
  readonly observer: WatchObserver
  /**
   * The first list has exactly this version, so that every change since then is delivered. If the server no longer has the
   * version (etcd keeps five minutes by default), its current state is listed instead.
   */
  readonly startAt?: string | undefined
  /**
   * The objects of an earlier reflector of the same scope. Objects that were deleted in between are reported as missed deletions.
   */
  readonly known?: KnownObjects
  /** Random numbers for jitter. Default: `Math.random`. */
  readonly random?: () => number
}

/** Resolves only when the signal is aborted. Rejects only if `deliver` throws, which it must not do: the event is then lost. */
export async function reflect(
  options: ReflectOptions,
  deliver: (event: ReflectedEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  // Many streams share the signal that stops them. The many listeners are no leak, so Node's warning is switched off.
  setMaxListeners(0, signal)
  await new Reflector(options, deliver, signal).run()
}

/**
 * Seconds without data after which the initial list is abandoned if there is no inactivity timeout. Servers send bookmarks about
 * every minute.
 */
const initialSilence: Duration = 70

/** Maximum number of warnings per connection: the same fault may be on every line. */
const warningsPerAttempt = 5

class Reflector {
  readonly #options: ReflectOptions
  readonly #signal: AbortSignal
  readonly #scope: WatchScope
  /** The resource with the kind that its delivered objects have. */
  readonly #resource: Resource
  readonly #path: string
  readonly #random: () => number
  readonly #store: ObjectStore
  readonly #retryPolicy: WatchRetryPolicy

  /** The error that `deliver` has thrown. It is no failure of the stream, so the stream does not reconnect. */
  #deliverError: { readonly error: unknown } | undefined
  #state: WatchState['type'] | undefined
  #warnings = 0
  /** Set to undefined by the first list: a failed list is not repeated at a version that may have expired. */
  #startAt: string | undefined

  constructor(options: ReflectOptions, deliver: (event: ReflectedEvent) => void, signal: AbortSignal) {
    const { resource, namespace, known = new KnownObjects(), random = Math.random, metadataOnly } = options
    this.#options = options
    this.#signal = signal
    this.#scope = { resource, namespace }
    this.#resource = metadataOnly ? { ...resource, kind: metadataKind } : resource
    this.#path = collectionPath(resource, namespace)
    this.#random = random
    this.#startAt = options.startAt
    this.#store = new ObjectStore(this.#resource, known, (event) => {
      try {
        deliver(event)
      } catch (error) {
        this.#deliverError = { error }
        throw error
      }
    })
    this.#retryPolicy = new WatchRetryPolicy(this.#store, random)
  }

  async run(): Promise<void> {
    const { clock, watching } = this.#options
    while (!this.#signal.aborted) {
      const attempt = await this.#attempt()
      if (this.#deliverError !== undefined) throw this.#deliverError.error
      if (this.#signal.aborted) return
      const decision = this.#retryPolicy.decide(attempt, toMs(watching.reconnectBackoff, 'watching.reconnectBackoff'))
      this.#reportFailure(decision)
      if (decision.delayMs > 0) await this.#pause(clock, decision.delayMs)
    }
  }

  async #pause(clock: Clock, delayMs: number): Promise<void> {
    try {
      await clock.sleep(delayMs, this.#signal)
    } catch (error) {
      if (!this.#signal.aborted) throw error
    }
  }

  /** Sends one watch request and reads it to its end, or reads one list of several pages. Never rejects. */
  async #attempt(): Promise<WatchAttempt> {
    const { clock } = this.#options
    const { version } = this.#store
    const method = version !== undefined ? 'resume' : this.#isStreaming() ? 'stream' : 'list'
    const attempt: WatchAttempt = { method, from: version, hasBegun: false, lastedMs: 0, end: 'closed' }
    let begunAt = monotonicNow(clock)
    this.#warnings = 0
    try {
      if (method === 'list') {
        await this.#list()
        attempt.end = 'listed'
      } else {
        attempt.end = await this.#follow(attempt, () => (begunAt = monotonicNow(clock)))
      }
    } catch (error) {
      attempt.end = { error }
    }
    if (attempt.hasBegun) attempt.lastedMs = monotonicNow(clock) - begunAt
    return attempt
  }

  #isStreaming(): boolean {
    return this.#startAt === undefined && this.#options.watching.initialStreaming && this.#retryPolicy.canStream
  }

  async #list(): Promise<void> {
    const { session, watching, selectors, metadataOnly, keepsManagedFields = false } = this.#options
    const exactly = this.#startAt
    this.#startAt = undefined
    this.#beginList()
    const version = await readPages(
      {
        session,
        resource: this.#resource,
        keepsManagedFields,
        path: this.#path,
        ...(metadataOnly && { accept: metadataForms.list }),
        query: listQuery({ exactly, notOlderThan: this.#minVersion }, selectors),
        chunkSize: this.#retryPolicy.needsWholeList ? null : watching.chunkSize,
        take: (object) => this.#store.apply('ADDED', object),
        warn: (problem) => this.#warn(problem),
      },
      this.#signal,
    )
    this.#endList(version)
  }

  async #follow(attempt: WatchAttempt, onBegin: () => void): Promise<'closed' | 'silent'> {
    const { session, clock, watching } = this.#options
    if (attempt.method === 'stream') this.#beginList()
    const clientTimeout = watching.clientTimeout ?? null
    return readStream(
      {
        session,
        clock,
        call: this.#watchCall(),
        silenceMs: () => this.#silenceMs(),
        maxDurationMs: clientTimeout === null ? undefined : toMs(clientTimeout, 'watching.clientTimeout'),
        onBegin: () => {
          attempt.hasBegun = true
          onBegin()
          if (!this.#store.isListing) this.#report({ type: 'watching' })
        },
        onData: () => this.#options.observer.watchReceived?.(this.#scope),
        take: (lines) => {
          for (const line of lines) {
            if (this.#signal.aborted) return
            this.#takeLine(line, attempt)
          }
        },
      },
      this.#signal,
    )
  }

  #takeLine(text: string, attempt: WatchAttempt): void {
    const line = parseWatchLine(text, this.#resource, this.#options.keepsManagedFields)
    if (line.type === 'ADDED' || line.type === 'MODIFIED') {
      this.#store.apply(line.type, line.object)
    } else if (line.type === 'DELETED') {
      this.#store.remove(line.object)
    } else if (line.type === 'BOOKMARK') {
      this.#takeBookmark(line, attempt)
    } else if (line.type === 'ERROR') {
      // Status 500 is used for an error event without a code.
      throw fromStatus({ method: 'GET', path: this.#path }, 500, line.status)
    } else if (line.type === 'malformed' && !this.#retryPolicy.skipsMalformed) {
      throw malformedLine(line.problem)
    } else {
      this.#warn(line.problem)
    }
  }

  #takeBookmark({ version, endsInitial }: { version: string; endsInitial: boolean }, attempt: WatchAttempt): void {
    const { version: reached, isListing } = this.#store
    if (isListing && !endsInitial) throw noInitialEnd()
    if (isListing) {
      this.#endList(version)
      attempt.from = version
    } else if (isOlder(version, reached)) {
      throw laggingServer(version, reached!)
    } else {
      this.#store.advance(version)
    }
  }

  #beginList(): void {
    this.#store.beginList()
    this.#report({ type: 'listing' })
  }

  #endList(version: string): void {
    this.#store.endList(version)
    this.#retryPolicy.listed()
    this.#report({ type: 'watching' })
  }

  #watchCall(): ApiCall {
    const { watching, selectors, metadataOnly, resource } = this.#options
    const timeoutSeconds = timeoutSecondsOf(watching.serverTimeout, this.#random)
    const from = { version: this.#store.version, notOlderThan: this.#minVersion, timeoutSeconds }
    const query = watchQuery(from, selectors)
    const whole: ApiCall = { method: 'GET', path: this.#path, query, purpose: 'watch', resource }
    const call = metadataOnly ? { ...whole, accept: metadataForms.watch } : whole
    const limit = watching.connectTimeout ?? null
    return limit === null ? call : { ...call, headTimeoutMs: toMs(limit, 'watching.connectTimeout') }
  }

  get #minVersion(): string | undefined {
    return this.#retryPolicy.isGuarded ? this.#store.highest : undefined
  }

  #silenceMs(): number | undefined {
    const limit = this.#options.watching.inactivityTimeout ?? (this.#store.isListing ? initialSilence : null)
    return limit === null ? undefined : toMs(limit, 'watching.inactivityTimeout')
  }

  #warn(problem: string): void {
    this.#warnings += 1
    if (this.#warnings > warningsPerAttempt) return
    const { plural } = this.#options.resource
    const isLast = this.#warnings === warningsPerAttempt
    const rest = isLast ? ' (further problems of this connection are not reported)' : ''
    this.#options.observer.watchWarned(`Watching ${plural}, skipped: ${problem}${rest}`, this.#scope)
  }

  #reportFailure({ error, delayMs }: RetryDecision): void {
    if (error === undefined) return
    this.#report({ type: 'broken', error, delayMs, attempt: this.#retryPolicy.attempts })
  }

  #report(state: WatchState): void {
    if (state.type === this.#state && state.type !== 'broken') return
    this.#state = state.type
    this.#options.observer.watchStateChanged(state, this.#scope)
  }
}
