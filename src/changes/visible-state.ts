/**
 * The object as the handlers of one cycle see it: the state at the beginning of the cycle with the patches, results and progress records of earlier
 * handlers, as if each had been written when its handler ended. Sends no requests: the cycle still ends with one write. Computed when a handler
 * reads it. Used by cycle.ts.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { mergeInto } from '../patching/patch.ts'
import type { PendingPatch } from '../patching/plan-patch.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import { toDraft } from '../util/json/drafts.ts'
import { toWhole } from '../util/json/lazy-json.ts'
import { changesAnything, mergeInPlace, withMergePatch } from '../util/json/merge-patch.ts'

/** Pending patches in their order. Consecutive patches without functions are merged into one. */
class VisiblePatch {
  readonly #patches: PendingPatch[] = []

  add({ merge, fns }: PendingPatch): void {
    const last = this.#patches.at(-1)
    if (last === undefined || last.fns.length > 0 || fns.length > 0) this.#patches.push({ merge: copyOf(merge), fns })
    else mergeInto(last.merge, merge)
  }

  /** With functions, which may change any field, the whole object is copied once; without, only the changed parts are. */
  applyTo(body: KubeObject): KubeObject {
    if (!this.#hasFunctions) return this.#patches.reduce((result, { merge }) => withMerge(result, merge), body)
    const draft = toDraft(body)
    for (const patch of this.#patches) applyVisiblePatch(draft, patch)
    return deepFreeze(draft)
  }

  /** Whether the patches have changed the object. Compares only the patched fields, unless functions may have changed others. */
  hasChanged(before: KubeObject, after: KubeObject): boolean {
    if (this.#hasFunctions) return !isDeepEqual(before, after)
    return this.#patches.some(({ merge }) => changesAnything(before as unknown as JsonObject, merge))
  }

  get #hasFunctions(): boolean {
    return this.#patches.some(({ fns }) => fns.length > 0)
  }

  clear(): void {
    this.#patches.length = 0
  }
}

/**
 * Each computed state copies the status and the annotations, which have an entry per earlier handler: n handlers cost the square of n. The author of
 * an object can choose n, with a list that is handled by one sub-handler per item. So after this many attempts in one cycle, the state is computed
 * again only when the number of attempts has grown by an eighth.
 */
const defaultExactAttempts = 1000
const coarseness = 8

/** Changes that were added after a write began, and are therefore not in its response. */
interface SinceWrite {
  readonly patches: VisiblePatch
  /** Ids of the handlers whose attempts have ended. */
  readonly ended: Set<string>
}

export interface VisibleStateOptions {
  /** The object at the beginning of the cycle, frozen. This call parses a large object. */
  readonly initial: () => KubeObject
  /** Puts the progress record of a handler into a patch. */
  readonly storeRecord: (id: string, patch: JsonObject) => void
  /** The number of attempts after which the state is not computed for every attempt any more. Default: 1000. */
  readonly exactAttempts?: number
}

export class VisibleState {
  readonly #options: VisibleStateOptions
  readonly #exactAttempts: number
  #body: KubeObject | undefined
  #version = 0
  readonly #pending = new VisiblePatch()
  /** Ids of the handlers whose attempts have ended and whose records are not in the body yet. */
  readonly #ended = new Set<string>()
  #isStale = false
  /** Whether a pending patch counts for `version`. */
  #hasCounted = false
  #mayHaveChanged = false
  #attempts = 0
  /** The number of attempts at the time when the body was computed. */
  #computedAt = 0
  #sinceWrite: SinceWrite | undefined

  constructor(options: VisibleStateOptions) {
    this.#options = options
    this.#exactAttempts = options.exactAttempts ?? defaultExactAttempts
  }

  /** The current state, frozen. Undefined if nothing has changed since the beginning of the cycle. */
  get changed(): KubeObject | undefined {
    this.#refresh()
    return this.#body
  }

  /** Whether nothing has changed since the beginning of the cycle. */
  get isInitial(): boolean {
    return this.#body === undefined && !this.#isStale
  }

  /** Whether a handler of this cycle has added a counted patch. Computes nothing, unlike `version`. */
  get mayHaveChanged(): boolean {
    return this.#mayHaveChanged
  }

  /**
   * How often handlers of this cycle have changed the object. Progress records do not count: they differ after every attempt, and handlers do not
   * wait for them alone. After `exactAttempts`, each patch counts as a change.
   */
  get version(): number {
    if (this.#hasCounted) this.#refresh()
    return this.#version
  }

  /** Adds the patch of a handler. With `isCounted`, handlers that asked for a retry are called again if the patch changes the object. */
  addPatch(patch: PendingPatch, { isCounted }: { readonly isCounted: boolean }): void {
    if (patch.fns.length === 0 && Object.keys(patch.merge).length === 0) return
    this.#isStale = true
    this.#mayHaveChanged ||= isCounted
    if (this.#attempts < this.#exactAttempts) this.#hasCounted ||= isCounted
    else if (isCounted) this.#version += 1
    this.#pending.add(patch)
    this.#sinceWrite?.patches.add(patch)
  }

  /** Called when an attempt of the handler has ended: its progress record has changed. */
  recordAttempt(id: string): void {
    this.#isStale = true
    this.#attempts += 1
    this.#ended.add(id)
    this.#sinceWrite?.ended.add(id)
  }

  /** Called when a checkpoint begins to write everything so far, while a handler is running. */
  beginWrite(): void {
    this.#sinceWrite = { patches: new VisiblePatch(), ended: new Set() }
  }

  /** Called with the response of the checkpoint: it becomes the state, with the changes that were added since the write began. */
  endWrite(response: KubeObject): void {
    this.#compute()
    const { patches, ended } = this.#sinceWrite!
    this.#body = this.#withRecords(patches.applyTo(deepFreeze(toWhole(response))), ended)
    this.#sinceWrite = undefined
  }

  #refresh(): void {
    if (!this.#isStale) return
    const isExact = this.#attempts <= this.#exactAttempts || this.#hasCounted
    if (isExact || this.#attempts - this.#computedAt >= this.#attempts / coarseness) this.#compute()
  }

  #compute(): void {
    const before = this.#body ?? this.#options.initial()
    const after = this.#pending.applyTo(before)
    if (this.#hasCounted && this.#pending.hasChanged(before, after)) this.#version += 1
    this.#body = this.#withRecords(after, this.#ended)
    this.#pending.clear()
    this.#ended.clear()
    this.#computedAt = this.#attempts
    this.#isStale = false
    this.#hasCounted = false
  }

  #withRecords(body: KubeObject, ids: Iterable<string>): KubeObject {
    const records: JsonObject = {}
    for (const id of ids) this.#options.storeRecord(id, records)
    return withMerge(body, records)
  }
}

function applyVisiblePatch(draft: KubeObject, { merge, fns }: PendingPatch): void {
  mergeInPlace(draft as unknown as JsonObject, merge)
  for (const fn of fns) {
    try {
      fn(draft)
    } catch {
      // The write calls the function once more and reports the failure with the handler's name.
    }
  }
}

function withMerge(body: KubeObject, merge: JsonObject): KubeObject {
  if (Object.keys(merge).length === 0) return body
  return deepFreeze(withMergePatch(body as unknown as JsonObject, merge) as unknown as KubeObject)
}

function copyOf(merge: JsonObject): JsonObject {
  const copy: JsonObject = {}
  mergeInto(copy, merge)
  return copy
}
