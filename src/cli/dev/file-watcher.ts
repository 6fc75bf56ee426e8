/**
 * Reports when files are saved. Watches folders rather than files: editors replace a file by a new one, and a missing file cannot be
 * watched.
 */
import { existsSync, type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { monotonicMs, systemClock } from '../../util/async/clock.ts'

/** A save causes several events within a few milliseconds. Saving many files takes longer, without pauses between the events. */
const quietMs = 12

export interface Saved {
  /** Absolute paths. */
  readonly files: ReadonlySet<string>
  /** When the first save was detected. */
  readonly sinceMs: number
}

export class SaveWatcher implements Disposable {
  readonly #onSave: (saved: Saved) => void
  readonly #folders = new Map<string, FSWatcher>()
  #isRelevant: (path: string) => boolean = () => false
  #saved: { files: Set<string>; sinceMs: number } | undefined
  #waiting: AbortController | undefined

  constructor(onSave: (saved: Saved) => void) {
    this.#onSave = onSave
  }

  /** Replaces the watched files. `isOfInterest` selects further files in the same folders. */
  watch(files: readonly string[], isRelevant: (path: string) => boolean): void {
    const watched = new Set(files)
    this.#isRelevant = (path) => watched.has(path) || isRelevant(path)
    const folders = new Set(files.map((file) => dirname(file)))
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#watchFolder(folder)
  }

  [Symbol.dispose](): void {
    this.#waiting?.abort()
    for (const watcher of this.#folders.values()) watcher.close()
  }

  /** A missing folder is skipped. The next bundle calls this again, when the folder may exist. */
  #watchFolder(folder: string): void {
    if (!existsSync(folder)) return
    const watcher = watch(folder, (_, name) => {
      if (name !== null) this.#recordSave(join(folder, basename(name)))
    })
    watcher.on('error', () => this.#folders.delete(folder))
    this.#folders.set(folder, watcher)
  }

  #recordSave(path: string): void {
    if (!this.#isRelevant(path)) return
    this.#saved ??= { files: new Set(), sinceMs: monotonicMs() }
    this.#saved.files.add(path)
    this.#waiting?.abort()
    this.#waiting = new AbortController()
    systemClock.sleep(quietMs, this.#waiting.signal).then(
      () => this.#notify(),
      () => {},
    )
  }

  #notify(): void {
    const saved = this.#saved
    this.#saved = undefined
    if (saved !== undefined) this.#onSave(saved)
  }
}
