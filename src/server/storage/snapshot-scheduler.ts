/**
 * Replaces the log by a snapshot when it is long enough. The snapshot is written in the background from the states at that moment,
 * which are immutable. After a failure it is tried again when the log has grown by another file.
 */
import { noLongerNeeded } from '../../util/async/clock.ts'
import type { Logger } from '../../util/log/log.ts'
import type { Disk } from './disk.ts'
import type { LogPosition } from './replay.ts'
import { segmentNumber } from './segments.ts'
import { draftSuffix, snapshotName, snapshotNumber, writeDraft } from './snapshots.ts'
import type { ServerStore } from './store.ts'

interface SnapshotOptions {
  readonly disk: Disk
  readonly store: ServerStore
  readonly log: Logger
  readonly segmentBytes: number
}

/** A server that is often restarted leaves many short files. */
const maxSegments = 64

export class SnapshotScheduler {
  readonly #parts: SnapshotOptions
  readonly #closing = new AbortController()
  #snapshotBytes: number
  #logBytes: number
  #segments: number
  #work: Promise<void> | undefined

  constructor(parts: SnapshotOptions, { snapshotBytes, logBytes, segments }: LogPosition) {
    this.#parts = parts
    this.#snapshotBytes = snapshotBytes
    this.#logBytes = logBytes
    this.#segments = segments
  }

  /** Counts a full log file. */
  count(bytes: number): void {
    this.#logBytes += bytes
    this.#segments += 1
  }

  /**
   * Called when the log continues in the file `number`. Takes a snapshot if the log is at least as large as the last snapshot, since a
   * snapshot costs as much as its size.
   */
  consider(number: number, settled: () => Promise<void> | undefined): void {
    const isDue = this.#logBytes >= Math.max(this.#parts.segmentBytes, this.#snapshotBytes)
    if (this.#work !== undefined || !(isDue || this.#segments >= maxSegments)) return
    this.#work = this.#take(number, settled()).finally(() => (this.#work = undefined))
  }

  async close(): Promise<void> {
    this.#closing.abort(noLongerNeeded)
    await this.#work
  }

  async #take(number: number, settled: Promise<void> | undefined): Promise<void> {
    const { disk, store, log } = this.#parts
    const { version } = store
    const states = [...store.states()]
    const [logBytes, segments] = [this.#logBytes, this.#segments]
    const draft = `${snapshotName(number)}${draftSuffix}`
    try {
      const size = await writeDraft(disk, { number, version, states }, this.#closing.signal)
      // The snapshot includes pending changes. If they are rolled back, this rejects and the draft is removed.
      await settled
      await disk.rename(draft, snapshotName(number))
      await disk.syncNames()
      this.#snapshotBytes = size
      this.#logBytes -= logBytes
      this.#segments -= segments
      await this.#removeOlder(number)
    } catch (error) {
      if (!this.#closing.signal.aborted) log.warn('Cannot take a snapshot of the data; the log goes on', { error })
      await disk.remove(draft).catch(() => {})
    }
  }

  async #removeOlder(number: number): Promise<void> {
    const { disk } = this.#parts
    for (const name of await disk.list()) {
      if ((segmentNumber(name) ?? snapshotNumber(name) ?? number) < number) await disk.remove(name)
    }
  }
}
