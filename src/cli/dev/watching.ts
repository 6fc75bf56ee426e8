/**
 * Tells when files are saved. Folders are watched rather than files: editors put a new file in the place of the old one,
 * and a file that is missing is not there to be watched.
 */
import { existsSync, type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { monotonicMs, systemClock } from '../../util/clock.ts'

/** A save is several events, within a few milliseconds; that of many files at once takes longer, and does not pause. */
const quietMs = 12

export interface Saved {
  /** Absolute paths. */
  readonly files: ReadonlySet<string>
  /** When the first of them was seen to be saved. */
  readonly sinceMs: number
}

export class SaveWatcher implements Disposable {
  readonly #onSave: (saved: Saved) => void
  readonly #folders = new Map<string, FSWatcher>()
  #isOfInterest: (path: string) => boolean = () => false
  #saved: { files: Set<string>; sinceMs: number } | undefined
  #waiting: AbortController | undefined

  constructor(onSave: (saved: Saved) => void) {
    this.#onSave = onSave
  }

  /** These from now on, and what lies beside them where `isOfInterest` says so. */
  follow(files: readonly string[], isOfInterest: (path: string) => boolean): void {
    const wanted = new Set(files)
    this.#isOfInterest = (path) => wanted.has(path) || isOfInterest(path)
    const folders = new Set(files.map((file) => dirname(file)))
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#watch(folder)
  }

  [Symbol.dispose](): void {
    this.#waiting?.abort()
    for (const watcher of this.#folders.values()) watcher.close()
  }

  /** A folder that is gone may come back under its name: with the next bundle it is looked for again. */
  #watch(folder: string): void {
    if (!existsSync(folder)) return
    const watcher = watch(folder, (_, name) => {
      if (name !== null) this.#note(join(folder, basename(name)))
    })
    watcher.on('error', () => this.#folders.delete(folder))
    this.#folders.set(folder, watcher)
  }

  #note(path: string): void {
    if (!this.#isOfInterest(path)) return
    this.#saved ??= { files: new Set(), sinceMs: monotonicMs() }
    this.#saved.files.add(path)
    this.#waiting?.abort()
    this.#waiting = new AbortController()
    systemClock.sleep(quietMs, this.#waiting.signal).then(
      () => this.#tell(),
      () => {},
    )
  }

  #tell(): void {
    const saved = this.#saved
    this.#saved = undefined
    if (saved !== undefined) this.#onSave(saved)
  }
}
