/** The state of one processing run for one object: the collected patch, the logger, the outcome, and the outcomes of its handler calls. Created by worker.ts. */
import { asksForRetry, ChildrenRetry, isOf, type Outcome } from '../handlers/outcomes.ts'
import type { CollectedPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome, ProcessingResult } from '../observer.ts'
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
  /** The run has only watch events of the operator's own writes. */
  isEcho = false
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

/** The outcomes of the handler calls of one run, from which its result follows. Created if a listener needs the result. */
export class CallOutcomes {
  /** A handler has failed, permanently or so that it is retried. */
  #hasErrors = false
  #hasFailed = false

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** A retry that the handler asked for with a `TemporaryError` is no error; nor is a parent that waits for its sub-handlers. */
  record(outcome: Outcome): void {
    if (outcome.type === 'failed') this.#hasFailed = true
    if (outcome.type === 'failed') this.#hasErrors = true
    if (outcome.type === 'retry' && !asksForRetry(outcome) && !isOf(outcome.error, ChildrenRetry))
      this.#hasErrors = true
  }

  /** `delayMs`: the time until the object is processed again; undefined if that is not planned. */
  resultWith(delayMs: number | undefined): ProcessingResult {
    if (this.#hasErrors) return 'error'
    if (delayMs === undefined) return 'success'
    return delayMs > 0 ? 'requeue_after' : 'requeue'
  }
}
