/**
 * Writes the changes of a store to disk: one write and one sync for all pending changes, then listeners are notified.
 * If the disk fails, pending changes are rolled back, and writes are refused until the disk works again.
 * A snapshot replaces the log from time to time, in the background. Called by storage/store.ts.
 */
import { type Clock, noLongerNeeded } from '../../util/async/clock.ts'
import type { Logger } from '../../util/log/log.ts'
import { cannotStore, type StatusError } from '../status.ts'
import { Batch } from './batch.ts'
import type { Disk } from './disk.ts'
import { toRecord } from './records.ts'
import type { LogPosition } from './replay.ts'
import { SegmentWriter } from './segments.ts'
import { SnapshotScheduler } from './snapshot-scheduler.ts'
import type { ServerStore, WriteAheadLog } from './store.ts'
import type { StoreChange } from './stored.ts'

export interface JournalParts {
  readonly disk: Disk
  readonly store: ServerStore
  readonly clock: Clock
  readonly log: Logger
  /** Maximum size of one log file, and minimum size of the log before a snapshot is taken. */
  readonly segmentBytes: number
}

/** Delay between a disk failure and the next attempt. */
const retryDelayMs = 1000

export class Journal implements WriteAheadLog {
  readonly #parts: JournalParts
  readonly #segments: SegmentWriter
  readonly #snapshots: SnapshotScheduler
  readonly #closing = new AbortController()

  /** Changes since the last write started. */
  #waiting = new Batch()
  #underWay: Batch | undefined

  /** Why changes are refused: the disk has failed, or the journal is closed. */
  #problem: StatusError | undefined
  #work: Promise<void> | undefined

  constructor(parts: JournalParts, position: LogPosition) {
    this.#parts = parts
    this.#segments = new SegmentWriter(parts.disk, position)
    this.#snapshots = new SnapshotScheduler(parts, position)
    this.#considerSnapshot()
  }

  append(change: StoreChange): void {
    if (this.#problem !== undefined) throw this.#problem
    this.#waiting.lines.push(toRecord(change))
    // Deferred by a microtask, so that all changes of one turn are written together.
    this.#work ??= Promise.resolve().then(() => this.#drain())
  }

  settled(): Promise<void> | undefined {
    return this.#waiting.lines.length > 0 ? this.#waiting.done : this.#underWay?.done
  }

  /** Writes pending changes and refuses new ones. */
  async close(): Promise<void> {
    this.#closing.abort(noLongerNeeded)
    while (this.#work !== undefined) await this.#work
    this.#problem = cannotStore('the server has stopped')
    await this.#snapshots.close()
    await this.#segments.finish()
  }

  async #drain(): Promise<void> {
    while (this.#waiting.lines.length > 0 && this.#problem === undefined) {
      const batch = this.#waiting
      this.#underWay = batch
      this.#waiting = new Batch()
      try {
        await this.#segments.write(batch.lines)
      } catch (error) {
        await this.#fail(error)
        break
      }
      this.#underWay = undefined
      this.#parts.store.onDurable(batch.lines.length)
      batch.resolve()
      await this.#finishSegment()
    }
    this.#work = undefined
  }

  /** Rolls back pending changes and rejects their promises, so that responses based on them fail as well. */
  async #fail(error: unknown): Promise<void> {
    const { log, store } = this.#parts
    const refusal = cannotStore((error as Error).message)
    this.#problem = refusal
    log.error('Cannot write to the data directory: writes are refused until it takes them again', { error })
    const lost = [this.#underWay!, this.#waiting]
    this.#underWay = undefined
    this.#waiting = new Batch()
    store.rollBack()
    for (const batch of lost) batch.reject(refusal)
    await this.#segments.abandon()
    void this.#recover()
  }

  async #recover(): Promise<void> {
    const { clock, log, store } = this.#parts
    const { signal } = this.#closing
    for (let isWell = false; !isWell; ) {
      await clock.sleep(retryDelayMs, signal).catch(() => {})
      if (signal.aborted) return
      isWell = await this.#tryAgain()
    }
    if (signal.aborted) return
    this.#problem = undefined
    log.info('The data directory can be written to again')
    store.onWritable()
  }

  async #tryAgain(): Promise<boolean> {
    try {
      await this.#segments.write([])
      return true
    } catch {
      await this.#segments.abandon()
      return false
    }
  }

  /** Closes a full file between two writes; the next write starts another one. */
  async #finishSegment(): Promise<void> {
    const { length } = this.#segments
    if (length < this.#parts.segmentBytes) return
    // The content is synced already, so a failure to close is ignored.
    await this.#segments.finish().catch(() => {})
    this.#snapshots.count(length)
    this.#considerSnapshot()
  }

  #considerSnapshot(): void {
    this.#snapshots.consider(this.#segments.next, () => this.settled())
  }
}
