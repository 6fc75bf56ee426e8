/**
 * One open watch: the initial state, then every matching change, as the bytes of the response. Pending changes are encoded only when
 * the client reads; a client with too many pending changes is disconnected.
 */
import type { Clock } from '../util/async/clock.ts'
import type { StatusError } from './status.ts'
import { type StoreChange, type Stored, withVersion } from './storage/stored.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Sent first, as fast as the client reads. */
export interface WatchBeginning {
  /** The objects at the start of the watch: matching ones are sent as ADDED. */
  readonly initial: readonly Stored[]
  /** The changes since the client's version. */
  readonly missed: readonly StoreChange[]
}

export interface WatchPlan extends WatchBeginning {
  /** True if the object is watched. */
  matches(stored: Stored): boolean
  encode(type: EventType, stored: Stored): Uint8Array
  /** Resolves when these changes can be matched and encoded; undefined if they can already. Absent if there is no conversion webhook. */
  readonly prepare?: ((changes: ReadonlyArray<Omit<StoreChange, 'version'>>) => Promise<void> | undefined) | undefined
  /** Undefined if the client did not request bookmarks. */
  bookmark: ((version: number, isEndOfInitial: boolean) => Uint8Array) | undefined
  /** True if a bookmark marks the end of the initial state. */
  readonly marksInitialEnd: boolean
  readonly timeoutMs: number
}

export interface WatchLimits {
  readonly pendingChanges: number
  readonly pendingCharacters: number
  readonly bookmarkIntervalMs: number
}

/** Usually the store's change itself, so that a thousand watches share one object. */
type PendingEvent = Pick<StoreChange, 'type' | 'current'>

/** The ERROR event of a watch that fails after its start. */
export function errorLine(error: StatusError): Uint8Array {
  return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
}

/** Encoded events are collected up to this size before they are sent. */
const chunkSize = 64 * 1024

export class WatchStream {
  /** In order; only matching events. */
  #pending: PendingEvent[] = []
  #pendingCharacters = 0

  /** The version of the initial state. */
  readonly #startVersion: number

  /** The version of the last change, used in bookmarks. */
  #version: number
  #isBookmarkDue = false

  /** No more changes are accepted; pending events are still sent. */
  #isEnding = false

  /** Nothing more is sent. */
  #isCut = false

  /** Sent as the last event. */
  #failure: StatusError | undefined
  #wake: () => void = () => {}

  /** True when the initial state can be encoded. */
  #isBegun: boolean

  readonly #plan: Omit<WatchPlan, keyof WatchBeginning>

  /** Dropped when sent: a watch may last an hour, and would keep superseded states in memory. */
  #beginning: WatchBeginning | undefined
  readonly #limits: WatchLimits
  readonly #ended = new AbortController()

  constructor({ initial, missed, ...plan }: WatchPlan, limits: WatchLimits, version: number) {
    this.#plan = plan
    this.#beginning = { initial, missed }
    this.#limits = limits
    this.#startVersion = version
    this.#version = version
    this.#isBegun = plan.prepare === undefined
  }

  /** Must be called for every change of the collection, in order. */
  onChange(change: StoreChange): void {
    // The store may report changes that are part of the initial state, because it reports them when they are durable.
    if (this.#isEnding || change.version <= this.#version) return
    this.#version = change.version
    const event = this.#eventOf(change)
    if (event === undefined) return
    this.#pending.push(event)
    this.#pendingCharacters += event.current.json.length
    const { pendingChanges, pendingCharacters } = this.#limits
    if (this.#pending.length > pendingChanges || this.#pendingCharacters > pendingCharacters) this.cut()
    this.#wake()
  }

  /** Sends pending events, then ends the stream normally. */
  end(): void {
    this.#isEnding = true
    this.#ended.abort()
    this.#wake()
  }

  /** Sends pending events, then the error. */
  fail(error: StatusError): void {
    this.#failure ??= error
    this.end()
  }

  /** Ends the stream immediately: the client is gone or too slow. */
  cut(): void {
    this.#isCut = true
    this.#pending = []
    this.#beginning = undefined
    this.end()
  }

  /** Aborted when no more changes are accepted, for any reason. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Starts the timers for the timeout and the bookmarks; must be called once. */
  keepTime(clock: Clock): void {
    const { signal } = this.#ended
    const timeOut = async () => {
      await clock.sleep(this.#plan.timeoutMs, signal)
      this.#isBookmarkDue = true
      this.end()
    }
    const remind = async () => {
      for (;;) {
        await clock.sleep(this.#limits.bookmarkIntervalMs, signal)
        this.#isBookmarkDue = true
        this.#wake()
      }
    }
    const ignoreEnd = () => {}
    timeOut().catch(ignoreEnd)
    if (this.#plan.bookmark !== undefined) remind().catch(ignoreEnd)
  }

  /** The initial state is converted; must be called if the plan has `prepare`. */
  begin(): void {
    this.#isBegun = true
    this.#wake()
  }

  /** Must be read once. Returning the iterator ends the stream, even while a read is pending or before the first read. */
  bytes(): AsyncIterableIterator<Uint8Array, void> {
    const chunks = this.#chunks()
    return {
      next: () => chunks.next(),
      return: () => {
        this.cut()
        return chunks.return()
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  async *#chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    // An empty chunk first: the headers are sent immediately, even if no event follows for a long time.
    yield new Uint8Array(0)
    while (!this.#isBegun && !this.#isEnding) await this.#waitForChange()
    if (this.#isBegun && this.#beginning !== undefined) yield* this.#firstBytes(this.#beginning)
    this.#beginning = undefined
    for (;;) {
      const chunk = this.#pendingBytes()
      if (chunk !== undefined) yield chunk
      else if (this.#isEnding) break
      else await this.#waitForChange()
    }
    if (this.#failure !== undefined && !this.#isCut) yield errorLine(this.#failure)
  }

  #waitForChange(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  *#firstEvents({ initial, missed }: WatchBeginning): Generator<PendingEvent, void, undefined> {
    for (const stored of initial) if (this.#plan.matches(stored)) yield { type: 'ADDED', current: stored }
    for (const change of missed) {
      const event = this.#eventOf(change)
      if (event !== undefined) yield event
    }
  }

  *#firstBytes(beginning: WatchBeginning): Generator<Uint8Array, void, undefined> {
    const { encode, marksInitialEnd, bookmark } = this.#plan
    let lines: Uint8Array[] = []
    let size = 0
    for (const { type, current } of this.#firstEvents(beginning)) {
      if (this.#isCut) return
      const line = encode(type, current)
      lines.push(line)
      size += line.length
      if (size < chunkSize) continue
      yield Buffer.concat(lines)
      lines = []
      size = 0
    }
    if (marksInitialEnd && bookmark !== undefined) lines.push(bookmark(this.#startVersion, true))
    if (lines.length > 0) yield Buffer.concat(lines)
  }

  #pendingBytes(): Uint8Array | undefined {
    if (this.#isCut) return undefined
    if (this.#pending.length === 0) return this.#bookmarkBytes()
    const lines: Uint8Array[] = []
    let size = 0
    let count = 0
    for (const { type, current } of this.#pending) {
      const line = this.#plan.encode(type, current)
      lines.push(line)
      size += line.length
      count += 1
      this.#pendingCharacters -= current.json.length
      if (size >= chunkSize) break
    }
    this.#pending = this.#pending.slice(count)
    return lines.length === 1 ? lines[0] : Buffer.concat(lines)
  }

  #bookmarkBytes(): Uint8Array | undefined {
    // Before the initial state is sent, a bookmark would be wrong.
    if (!this.#isBookmarkDue || !this.#isBegun) return undefined
    this.#isBookmarkDue = false
    return this.#plan.bookmark?.(this.#version, false)
  }

  /** An object that starts to match is sent as ADDED, an object that no longer matches as DELETED, although it exists. */
  #eventOf(change: StoreChange): PendingEvent | undefined {
    const { type, current, previous } = change
    const { matches } = this.#plan
    const isIn = type !== 'DELETED' && matches(current)
    const wasIn = previous !== undefined && matches(previous)
    if (!isIn && !wasIn) return undefined
    const seen = isIn ? (wasIn ? 'MODIFIED' : 'ADDED') : 'DELETED'
    if (seen === type) return change
    return { type: seen, current: isIn ? current : lastSeen(change, previous!) }
  }
}

/** The previous state with the version of the change; created once for all watches that the object leaves. */
function lastSeen(change: StoreChange, previous: Stored): Stored {
  change.lastSeen ??= withVersion(previous, change.version)
  return change.lastSeen
}
