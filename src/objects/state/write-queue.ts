/** The writes of one object: one at a time, in the order of the calls; and its pending patches. Sends nothing itself. A part of WatchedObject. */
import type { Essence } from '../../causation/cause.ts'
import type { Handler } from '../../handlers/handler.ts'
import type { CollectedPatch } from '../../handlers/results.ts'
import { mergeInto } from '../../patching/patch.ts'
import { addAuthors } from '../../patching/patch-authors.ts'

/** A patch with the outcome of handlers that could not be written. The worker retries it first, so that the handlers are not called again. */
export interface UnwrittenPatch {
  readonly patch: CollectedPatch
  /** The essence that counts as handled once the patch is written. */
  readonly handled: Essence | undefined
  /** The version of the object at which the server first rejected the patch (422); undefined if it did not. */
  readonly rejectedAt: string | undefined
  /** The number of consecutive rejections. */
  readonly rejections: number
}

export class WriteQueue {
  /** Settles when the last write in the queue has ended. */
  #last: Promise<void> | undefined
  #unwritten: UnwrittenPatch | undefined
  /** Pending patches of daemons and timers, by handler. */
  #background: Map<Handler, CollectedPatch> | undefined

  /** Runs the work after all earlier work has ended, whether that failed or not. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last
    const done = (async () => {
      await before
      return work()
    })()
    const settled = done.then(
      () => {},
      () => {},
    )
    this.#last = settled
    void settled.then(() => {
      if (this.#last === settled) this.#last = undefined
    })
    return done
  }

  get unwritten(): UnwrittenPatch | undefined {
    return this.#unwritten
  }

  keepUnwritten(unwritten: UnwrittenPatch | undefined): void {
    this.#unwritten = unwritten
  }

  get hasBackground(): boolean {
    return this.#background !== undefined && this.#background.size > 0
  }

  backgroundHandlers(): readonly Handler[] {
    return [...(this.#background?.keys() ?? [])]
  }

  addBackground(handler: Handler, patch: CollectedPatch): void {
    this.#background ??= new Map()
    const before = this.#background.get(handler)
    if (before === undefined) {
      this.#background.set(handler, patch)
      return
    }
    mergeInto(before.merge, patch.merge)
    for (const fn of patch.fns) before.fns.push(fn)
    addAuthors(before.authors, patch.authors)
  }

  /** Removes and returns the pending patch of a daemon or timer. */
  takeBackground(handler: Handler): CollectedPatch | undefined {
    const patch = this.#background?.get(handler)
    this.#background?.delete(handler)
    return patch
  }

  /** Puts a patch back whose write failed, before the changes that the handler has added since. */
  returnBackground(handler: Handler, patch: CollectedPatch): void {
    const newer = this.takeBackground(handler)
    this.addBackground(handler, patch)
    if (newer !== undefined) this.addBackground(handler, newer)
  }
}
