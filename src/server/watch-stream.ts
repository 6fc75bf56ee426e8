/**
 * One open watch: the state it began with, then every change that concerns it, as the bytes of the answer.
 * Changes wait here, not their bytes, until the client reads; a client that lets too much wait is cut off.
 */
import type { Clock } from '../util/clock.ts'
import type { StatusError } from './status.ts'
import { type Change, type Stored, withVersion } from './storage/stored.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Sent before anything else, only as fast as the client reads. */
export interface WatchBeginning {
  /** The objects at the start of the watch: those that match are sent as ADDED. */
  readonly initial: readonly Stored[]
  /** The changes since the version that the client had. */
  readonly missed: readonly Change[]
}

export interface WatchPlan extends WatchBeginning {
  /** Whether an object is one of those watched. */
  matches(stored: Stored): boolean
  encode(type: EventType, stored: Stored): Uint8Array
  /**
   * Resolves when these changes can be judged and encoded; undefined where they can be already. Absent where they always
   * can: no webhook has to convert them.
   */
  readonly prepare?: ((changes: ReadonlyArray<Omit<Change, 'version'>>) => Promise<void> | undefined) | undefined
  /** Undefined where the client did not ask for bookmarks. */
  bookmark: ((version: number, isEndOfInitial: boolean) => Uint8Array) | undefined
  /** Whether the end of the initial state is marked by a bookmark. */
  readonly marksInitialEnd: boolean
  readonly timeoutMs: number
}

export interface WatchLimits {
  readonly pendingChanges: number
  readonly pendingCharacters: number
  readonly bookmarkIntervalMs: number
}

/** Mostly the change itself: what waits for a thousand watchers is then there once. */
type WatchEvent = Pick<Change, 'type' | 'current'>

/** With what a watch fails once it was in order. */
export function errorLine(error: StatusError): Uint8Array {
  return Buffer.from(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`)
}

/** Bytes are gathered up to this size before they are handed on. */
const chunkSize = 64 * 1024

export class WatchStream {
  /** In the order they happened; only those the plan has not filtered out. */
  #pending: WatchEvent[] = []
  #pendingCharacters = 0

  /** The version that the initial state is of. */
  readonly #startVersion: number

  /** The version of the last change heard of: what a bookmark can promise. */
  #version: number
  #isBookmarkDue = false

  /** Nothing more is taken in; what waits is still sent. */
  #isEnding = false

  /** Nothing more is sent either. */
  #isCut = false

  /** Sent last of all. */
  #failure: StatusError | undefined
  #wake: () => void = () => {}

  /** What it begins with can be encoded. */
  #isBegun: boolean

  readonly #plan: Omit<WatchPlan, keyof WatchBeginning>

  /** Released when it has been sent: a watch may last an hour, and would keep superseded states in memory for as long. */
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

  /** To be called for every change of the collection, in order. */
  hear(change: Change): void {
    // What the watch began with may be kept, and told of, only now.
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

  /** Sends what waits, then ends in good order. */
  end(): void {
    this.#isEnding = true
    this.#ended.abort()
    this.#wake()
  }

  /** Sends what waits, then why there can be no more. */
  fail(error: StatusError): void {
    this.#failure ??= error
    this.end()
  }

  /** Ends at once: the client is gone, or too slow to be worth the memory. */
  cut(): void {
    this.#isCut = true
    this.#pending = []
    this.#beginning = undefined
    this.end()
  }

  /** Aborted when nothing more is taken in, for whatever reason. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Ends the stream after its time, and reminds it of bookmarks; to be called once. */
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

  /** What it begins with is prepared; to be called where the plan has something to prepare. */
  begin(): void {
    this.#isBegun = true
    this.#wake()
  }

  /** To be read once. Whoever stops reading ends the stream, even while it waits, even before it has begun. */
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
    // First of all an empty chunk: the headers go out at once, although nothing may happen for long.
    yield new Uint8Array(0)
    while (!this.#isBegun && !this.#isEnding) await this.#news()
    if (this.#isBegun && this.#beginning !== undefined) yield* this.#firstBytes(this.#beginning)
    this.#beginning = undefined
    for (;;) {
      const chunk = this.#pendingBytes()
      if (chunk !== undefined) yield chunk
      else if (this.#isEnding) break
      else await this.#news()
    }
    if (this.#failure !== undefined && !this.#isCut) yield errorLine(this.#failure)
  }

  #news(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  *#firstEvents({ initial, missed }: WatchBeginning): Generator<WatchEvent, void, undefined> {
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
    // It would promise what the watch has not even begun with.
    if (!this.#isBookmarkDue || !this.#isBegun) return undefined
    this.#isBookmarkDue = false
    return this.#plan.bookmark?.(this.#version, false)
  }

  /** An object that comes to match arrives as added, one that ceases to match leaves as deleted, although it lives. */
  #eventOf(change: Change): WatchEvent | undefined {
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

/** The state before, under the version of the change: made once for all who see the object leave. */
function lastSeen(change: Change, previous: Stored): Stored {
  change.lastSeen ??= withVersion(previous, change.version)
  return change.lastSeen
}
