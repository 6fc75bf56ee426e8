/**
 * Decides when the log is long enough to be replaced by a snapshot, and has one taken beside the work: of the states as they
 * are at that moment, which nobody changes afterwards. What fails is tried again when the log has grown by another file.
 */
import { noLongerNeeded } from '../../util/clock.ts'
import type { Logger } from '../../util/log.ts'
import type { Disk } from './disk.ts'
import type { Position } from './replay.ts'
import { segmentNumber } from './segments.ts'
import { draftSuffix, snapshotName, snapshotNumber, writeDraft } from './snapshots.ts'
import type { Store } from './store.ts'

interface Parts {
  readonly disk: Disk
  readonly store: Store
  readonly log: Logger
  readonly segmentBytes: number
}

/** Short lives of a server leave short files. */
const mostSegments = 64

export class SnapshotKeeper {
  readonly #parts: Parts
  readonly #closing = new AbortController()
  #snapshotBytes: number
  #logBytes: number
  #segments: number
  #work: Promise<void> | undefined

  constructor(parts: Parts, { snapshotBytes, logBytes, segments }: Position) {
    this.#parts = parts
    this.#snapshotBytes = snapshotBytes
    this.#logBytes = logBytes
    this.#segments = segments
  }

  /** A file of the log is full. */
  count(bytes: number): void {
    this.#logBytes += bytes
    this.#segments += 1
  }

  /**
   * To be called when the log goes on in another file, of this number. A snapshot costs as much as it is large: so the log
   * has to be as large first.
   */
  consider(number: number, settled: () => Promise<void> | undefined): void {
    const isDue = this.#logBytes >= Math.max(this.#parts.segmentBytes, this.#snapshotBytes)
    if (this.#work !== undefined || !(isDue || this.#segments >= mostSegments)) return
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
      // What was seen while it waited to be kept may be lost, and then there is no such state.
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
