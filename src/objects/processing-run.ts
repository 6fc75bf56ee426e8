/** The state of one processing run for one object: the collected patch, the logger and the outcome. Created by worker.ts. */
import type { CollectedPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome } from '../observer.ts'
import { mergeInto, type PatchFunction } from '../patching/patch.ts'
import { addAuthors, type PatchAuthors } from '../patching/patch-authors.ts'
import type { Logger } from '../util/log/log.ts'
import { HeldParse } from './large-objects.ts'

export class ProcessingRun implements CollectedPatch {
  readonly logger: Logger
  /** Keeps the parsed members of a large object until the run ends. */
  readonly held: HeldParse = new HeldParse()
  /** The run has a state that was not known before. */
  hasNews = false
  /** A timer or a feature woke the worker. */
  isWoken = false
  /** The outcome of the change handlers; undefined if none matches the object. */
  outcome: ObjectOutcome | undefined
  #merge: JsonObject = {}
  #fns: PatchFunction<KubeObject>[] = []
  #authors: PatchAuthors = new Map()

  constructor(logger: Logger) {
    this.logger = logger
  }

  get merge(): JsonObject {
    return this.#merge
  }

  get fns(): PatchFunction<KubeObject>[] {
    return this.#fns
  }

  get authors(): PatchAuthors {
    return this.#authors
  }

  get hasPatch(): boolean {
    return this.#fns.length > 0 || Object.keys(this.#merge).length > 0
  }

  /** Adds a patch that is applied after the collected one. */
  add({ merge, fns, authors }: CollectedPatch): void {
    mergeInto(this.#merge, merge)
    for (const fn of fns) this.#fns.push(fn)
    addAuthors(this.#authors, authors)
  }

  /** Adds an older patch that is applied before the collected one. */
  prepend({ merge, fns, authors }: CollectedPatch): void {
    mergeInto(merge, this.#merge)
    this.#merge = merge
    this.#fns = [...fns, ...this.#fns]
    addAuthors(authors, this.#authors)
    this.#authors = authors
  }

  /** Returns the collected patch, and starts an empty one. */
  takePatch(): CollectedPatch {
    const patch = { merge: this.#merge, fns: this.#fns, authors: this.#authors }
    this.#merge = {}
    this.#fns = []
    this.#authors = new Map()
    return patch
  }
}
