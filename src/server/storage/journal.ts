/**
 * Keeps the changes of a store on disk: one write and one sync for all that have come meanwhile, then everybody hears of them.
 * Where the disk refuses, what waits has never happened, and no more is taken until the disk has taken something again.
 * From time to time the log is replaced by a snapshot, beside the work. Told what to keep by storage/store.ts.
 */
import { type Clock, noLongerNeeded } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import { cannotKeep, type StatusError } from '../status.ts'
import { Batch } from './batch.ts'
import type { Disk } from './disk.ts'
import { toRecord } from './records.ts'
import type { Position } from './replay.ts'
import { SegmentWriter } from './segments.ts'
import { SnapshotKeeper } from './snapshot-keeper.ts'
import type { Ledger, Store } from './store.ts'
import type { Change } from './stored.ts'

export interface JournalParts {
  readonly disk: Disk
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  /** How long one file of the log gets, and how long the log before a snapshot is taken of all objects. */
  readonly segmentBytes: number
}

/** How long after a failure the disk is tried again. */
const patienceMs = 1000

export class Journal implements Ledger {
  readonly #parts: JournalParts
  readonly #segments: SegmentWriter
  readonly #snapshots: SnapshotKeeper
  readonly #closing = new AbortController()

  /** What has come since the last write began. */
  #waiting = new Batch()
  #underWay: Batch | undefined

  /** Why nothing is taken: the disk has failed, or the journal is closed. */
  #problem: StatusError | undefined
  #work: Promise<void> | undefined

  constructor(parts: JournalParts, position: Position) {
    this.#parts = parts
    this.#segments = new SegmentWriter(parts.disk, position)
    this.#snapshots = new SnapshotKeeper(parts, position)
    this.#considerSnapshot()
  }

  append(change: Change): void {
    if (this.#problem !== undefined) throw this.#problem
    this.#waiting.lines.push(toRecord(change))
    // Later in this turn, so that all that is changed at once is written at once.
    this.#work ??= Promise.resolve().then(() => this.#drain())
  }

  settled(): Promise<void> | undefined {
    return this.#waiting.lines.length > 0 ? this.#waiting.done : this.#underWay?.done
  }

  /** Writes what waits, and takes nothing more. */
  async close(): Promise<void> {
    this.#closing.abort(noLongerNeeded)
    while (this.#work !== undefined) await this.#work
    this.#problem = cannotKeep('the server has stopped')
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
      this.#parts.store.onKept(batch.lines.length)
      batch.resolve()
      await this.#finishSegment()
    }
    this.#work = undefined
  }

  /** What a reader has seen of what was lost is taken back with it: everybody who waits is told. */
  async #fail(error: unknown): Promise<void> {
    const { log, store } = this.#parts
    const refusal = cannotKeep((error as Error).message)
    this.#problem = refusal
    log.error('Cannot write to the data directory: writes are refused until it takes them again', { error })
    const lost = [this.#underWay!, this.#waiting]
    this.#underWay = undefined
    this.#waiting = new Batch()
    store.onLost()
    for (const batch of lost) batch.reject(refusal)
    await this.#segments.abandon()
    void this.#recover()
  }

  async #recover(): Promise<void> {
    const { clock, log, store } = this.#parts
    const { signal } = this.#closing
    for (let isWell = false; !isWell; ) {
      await clock.sleep(patienceMs, signal).catch(() => {})
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

  /** In the middle of the work, and not beside it: a file is closed, and the next write begins another. */
  async #finishSegment(): Promise<void> {
    const { length } = this.#segments
    if (length < this.#parts.segmentBytes) return
    // What is wrong with a file that was synced is the business of the next one.
    await this.#segments.finish().catch(() => {})
    this.#snapshots.count(length)
    this.#considerSnapshot()
  }

  #considerSnapshot(): void {
    this.#snapshots.consider(this.#segments.next, () => this.settled())
  }
}
