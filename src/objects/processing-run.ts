/** One run of the worker for one object: what the run collects until the patch is written. */
import type { CollectedPatch } from '../handlers/results.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { ObjectOutcome } from '../observer.ts'
import { mergeInto, type PatchFunction } from '../patching/patch.ts'
import type { Logger } from '../util/log/log.ts'
import { HeldParse } from './large-objects.ts'

export class ProcessingRun implements CollectedPatch {
  readonly logger: Logger
  /** Keeps the parsed members of a large object until the run ends. */
  readonly held: HeldParse = new HeldParse()
  /** A state came that was not known before. */
  hasNews = false
  /** A timer or a feature woke the worker. */
  isWoken = false
  /** The outcome of the change handlers; undefined if none matches the object. */
  outcome: ObjectOutcome | undefined
  #merge: JsonObject = {}
  #fns: PatchFunction<KubeObject>[] = []

  constructor(logger: Logger) {
    this.logger = logger
  }

  get merge(): JsonObject {
    return this.#merge
  }

  get fns(): PatchFunction<KubeObject>[] {
    return this.#fns
  }

  get hasPatch(): boolean {
    return this.#fns.length > 0 || Object.keys(this.#merge).length > 0
  }

  /** Adds a patch after the own one. */
  add({ merge, fns }: CollectedPatch): void {
    mergeInto(this.#merge, merge)
    for (const fn of fns) this.#fns.push(fn)
  }

  /** Puts an older patch before the own one. */
  prepend({ merge, fns }: CollectedPatch): void {
    mergeInto(merge, this.#merge)
    this.#merge = merge
    this.#fns = [...fns, ...this.#fns]
  }

  /** Starts a new patch, and returns the one so far. */
  takePatch(): CollectedPatch {
    const patch = { merge: this.#merge, fns: this.#fns }
    this.#merge = {}
    this.#fns = []
    return patch
  }
}
