/**
 * The gate: one supervised stream for one resource and scope. Brings the objects that are there, says that they are all,
 * then brings every change, for ever: whatever breaks is taken up again where it was, and what was missed is found out.
 * Called by running/; hands on to the queue. Knows nothing of handlers, and keeps no objects.
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
import { type Remedy, type WatchAttempt, WatchRecovery } from './retry-policy.ts'
import { KnownObjects, ObjectStore } from './store.ts'
import { laggingServer, malformedLine, noInitialEnd } from './watch-errors.ts'
import { parseWatchLine, type ReflectedEvent } from './watch-events.ts'
import type { WatchObserver, WatchScope, WatchState } from './watch-observer.ts'
import { readStream } from './watch-stream.ts'

/** A part of `settings.watching`, read whenever it is needed. */
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
  /** Of the objects only their metadata is asked for, where nobody needs more: some are large. */
  readonly metadataOnly?: boolean
  /** Who owns which fields is of interest: that is left out otherwise, since it is large. */
  readonly keepsManagedFields?: boolean
  readonly observer: WatchObserver
  /**
   * The first list is of exactly this version, so that every change since then is delivered. A server that no longer has the version
   * (etcd keeps five minutes) is asked for its current state instead.
   */
  readonly startAt?: string | undefined
  /** What an earlier call for the same scope has left: so that what went while nobody watched is found out, too. */
  readonly known?: KnownObjects
  /** Spreads what many would do at once; `Math.random` by default. */
  readonly random?: () => number
}

/**
 * Resolves when the signal is aborted, and at no other time. Rejects only if `deliver` throws, which it must not: what it
 * was given is then lost.
 */
export async function reflect(
  options: ReflectOptions,
  deliver: (event: ReflectedEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  // One signal for many streams is how they are stopped together, and no leak.
  setMaxListeners(0, signal)
  await new Reflector(options, deliver, signal).run()
}

/** Servers send bookmarks about every minute; where silence is allowed for ever, it is not while the first state is awaited. */
const initialSilence: Duration = 70

/** The same fault on every line is told of a few times, not a thousand. */
const warningsPerAttempt = 5

class Reflector {
  readonly #options: ReflectOptions
  readonly #signal: AbortSignal
  readonly #scope: WatchScope
  /** As its objects come. */
  readonly #resource: Resource
  readonly #path: string
  readonly #random: () => number
  readonly #mirror: ObjectStore
  readonly #recovery: WatchRecovery

  /** What `deliver` threw: no fault of the stream, and not to be repeated. */
  #bug: { readonly error: unknown } | undefined
  #state: WatchState['type'] | undefined
  #warnings = 0
  /** Undefined once it was asked for: a list that failed is not tried again at a version that may be gone. */
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
    this.#mirror = new ObjectStore(this.#resource, known, (event) => {
      try {
        deliver(event)
      } catch (error) {
        this.#bug = { error }
        throw error
      }
    })
    this.#recovery = new WatchRecovery(this.#mirror, random)
  }

  async run(): Promise<void> {
    const { clock, watching } = this.#options
    while (!this.#signal.aborted) {
      const attempt = await this.#attempt()
      if (this.#bug !== undefined) throw this.#bug.error
      if (this.#signal.aborted) return
      const remedy = this.#recovery.judge(attempt, toMs(watching.reconnectBackoff, 'watching.reconnectBackoff'))
      this.#reportFailure(remedy)
      if (remedy.delayMs > 0) await this.#pause(clock, remedy.delayMs)
    }
  }

  async #pause(clock: Clock, delayMs: number): Promise<void> {
    try {
      await clock.sleep(delayMs, this.#signal)
    } catch (error) {
      if (!this.#signal.aborted) throw error
    }
  }

  /** One request and all that comes of it, or one list of several pages. Does not reject. */
  async #attempt(): Promise<WatchAttempt> {
    const { clock } = this.#options
    const { version } = this.#mirror
    const means = version !== undefined ? 'resume' : this.#isStreaming() ? 'stream' : 'list'
    const attempt: WatchAttempt = { means, from: version, hasBegun: false, lastedMs: 0, end: 'closed' }
    let begunAt = monotonicNow(clock)
    this.#warnings = 0
    try {
      if (means === 'list') {
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
    return this.#startAt === undefined && this.#options.watching.initialStreaming && this.#recovery.canStream
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
        query: listQuery({ exactly, notOlderThan: this.#guard }, selectors),
        chunkSize: this.#recovery.needsWholeList ? null : watching.chunkSize,
        take: (object) => this.#mirror.apply('ADDED', object),
        warn: (problem) => this.#warn(problem),
      },
      this.#signal,
    )
    this.#endList(version)
  }

  async #follow(attempt: WatchAttempt, begun: () => void): Promise<'closed' | 'silent'> {
    const { session, clock, watching } = this.#options
    if (attempt.means === 'stream') this.#beginList()
    const longest = watching.clientTimeout ?? null
    return readStream(
      {
        session,
        clock,
        call: this.#watchCall(),
        silenceMs: () => this.#silenceMs(),
        maxSilenceMs: longest === null ? undefined : toMs(longest, 'watching.clientTimeout'),
        begun: () => {
          attempt.hasBegun = true
          begun()
          if (!this.#mirror.isListing) this.#report({ type: 'watching' })
        },
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
      this.#mirror.apply(line.type, line.object)
    } else if (line.type === 'DELETED') {
      this.#mirror.remove(line.object)
    } else if (line.type === 'BOOKMARK') {
      this.#takeBookmark(line, attempt)
    } else if (line.type === 'ERROR') {
      // 500 is for a status that does not say its code.
      throw fromStatus({ method: 'GET', path: this.#path }, 500, line.status)
    } else if (line.type === 'malformed' && !this.#recovery.skipsMalformed) {
      throw malformedLine(line.problem)
    } else {
      this.#warn(line.problem)
    }
  }

  #takeBookmark({ version, endsInitial }: { version: string; endsInitial: boolean }, attempt: WatchAttempt): void {
    const { version: reached, isListing } = this.#mirror
    if (isListing && !endsInitial) throw noInitialEnd()
    if (isListing) {
      this.#endList(version)
      attempt.from = version
    } else if (isOlder(version, reached)) {
      throw laggingServer(version, reached!)
    } else {
      this.#mirror.advance(version)
    }
  }

  #beginList(): void {
    this.#mirror.beginList()
    this.#report({ type: 'listing' })
  }

  #endList(version: string): void {
    this.#mirror.endList(version)
    this.#recovery.listed()
    this.#report({ type: 'watching' })
  }

  #watchCall(): ApiCall {
    const { watching, selectors, metadataOnly } = this.#options
    const timeoutSeconds = timeoutSecondsOf(watching.serverTimeout, this.#random)
    const from = { version: this.#mirror.version, notOlderThan: this.#guard, timeoutSeconds }
    const whole: ApiCall = { method: 'GET', path: this.#path, query: watchQuery(from, selectors) }
    const call = metadataOnly ? { ...whole, accept: metadataForms.watch } : whole
    const limit = watching.connectTimeout ?? null
    return limit === null ? call : { ...call, headTimeoutMs: toMs(limit, 'watching.connectTimeout') }
  }

  get #guard(): string | undefined {
    return this.#recovery.isGuarded ? this.#mirror.highest : undefined
  }

  #silenceMs(): number | undefined {
    const limit = this.#options.watching.inactivityTimeout ?? (this.#mirror.isListing ? initialSilence : null)
    return limit === null ? undefined : toMs(limit, 'watching.inactivityTimeout')
  }

  #warn(problem: string): void {
    this.#warnings += 1
    if (this.#warnings > warningsPerAttempt) return
    const { plural } = this.#options.resource
    const isLast = this.#warnings === warningsPerAttempt
    const rest = isLast ? ' (what more there is on this connection is not reported)' : ''
    this.#options.observer.watchWarned(`Watching ${plural}, passed over: ${problem}${rest}`, this.#scope)
  }

  #reportFailure({ error, delayMs }: Remedy): void {
    if (error === undefined) return
    this.#report({ type: 'broken', error, delayMs, attempt: this.#recovery.attempts })
  }

  #report(state: WatchState): void {
    if (state.type === this.#state && state.type !== 'broken') return
    this.#state = state.type
    this.#options.observer.watchStateChanged(state, this.#scope)
  }
}
