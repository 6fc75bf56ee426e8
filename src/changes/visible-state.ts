/**
 * The object as the handlers of one cycle see it: the state at the beginning of the cycle, changed by what the handlers before have put
 * into their patches, by their results and by their progress records, as if each handler's part had been written when the handler ended.
 * Nothing is written for it: the cycle still ends with one write. Computed when a handler reads it. Used by cycle.ts.
 */
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import { mergeInto } from '../patching/patch.ts'
import type { PendingPatch } from '../patching/plan-patch.ts'
import { isDeepEqual } from '../util/json/deep-equal.ts'
import { deepFreeze } from '../util/json/deep-freeze.ts'
import { toDraft } from '../util/json/drafts.ts'
import { toWhole } from '../util/json/lazy-json.ts'
import { changesAnything, mergeInPlace, withMergePatch } from '../util/json/merge-patch.ts'

/** Pending patches in the order in which they came. Those that follow each other without functions are kept as one. */
class VisiblePatch {
  readonly #patches: PendingPatch[] = []

  add({ merge, fns }: PendingPatch): void {
    const last = this.#patches.at(-1)
    if (last === undefined || last.fns.length > 0 || fns.length > 0) this.#patches.push({ merge: copyOf(merge), fns })
    else mergeInto(last.merge, merge)
  }

  /** A function may change any field: then all of the object is copied, once for all patches. */
  applyTo(body: KubeObject): KubeObject {
    if (!this.#hasFunctions) return this.#patches.reduce((result, { merge }) => withMerge(result, merge), body)
    const draft = toDraft(body)
    for (const patch of this.#patches) applyVisiblePatch(draft, patch)
    return deepFreeze(draft)
  }

  /** Whether the second object, which was made of the first, differs from it. Looks only at what the patches name, where that is known. */
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
 * Each state that a handler reads is a copy of the status and the annotations, which have an entry for each handler before: for n handlers
 * that is the square of n. The author of an object may decide on n, by a list that is handled with a sub-handler for each item. So after
 * this many attempts in one cycle, the state is brought up to date only when the attempts have grown by an eighth.
 */
const defaultExactAttempts = 1000
const coarseness = 8

/** What came after a write has begun, and is therefore not in its answer. */
interface SinceWrite {
  readonly patches: VisiblePatch
  /** Ids of the handlers that have ended. */
  readonly ended: Set<string>
}

export interface VisibleStateOptions {
  /** The object at the beginning of the cycle, frozen. A large object is parsed by this call. */
  readonly initial: () => KubeObject
  /** Puts the progress record of a handler into a patch. */
  readonly storeRecord: (id: string, patch: JsonObject) => void
  /** After how many attempts the state is not brought up to date for each of them. */
  readonly exactAttempts?: number
}

export class VisibleState {
  readonly #options: VisibleStateOptions
  readonly #exactAttempts: number
  #body: KubeObject | undefined
  #version = 0
  readonly #pending = new VisiblePatch()
  /** Ids of the handlers that have ended, and whose records are not in the body yet. */
  readonly #ended = new Set<string>()
  #isStale = false
  /** Among what is pending is a change that counts for `version`. */
  #hasCounted = false
  #mayHaveChanged = false
  #attempts = 0
  /** How many attempts had ended when the body was computed. */
  #computedAt = 0
  #sinceWrite: SinceWrite | undefined

  constructor(options: VisibleStateOptions) {
    this.#options = options
    this.#exactAttempts = options.exactAttempts ?? defaultExactAttempts
  }

  /** Frozen. Undefined for as long as nothing was noted. */
  get changed(): KubeObject | undefined {
    this.#refresh()
    return this.#body
  }

  /** Whether nothing was noted so far. */
  get isInitial(): boolean {
    return this.#body === undefined && !this.#isStale
  }

  /** Whether a handler of this cycle wants anything to be different. Costs nothing, unlike the others. */
  get mayHaveChanged(): boolean {
    return this.#mayHaveChanged
  }

  /**
   * How often handlers of this cycle have changed the object so far. Progress records do not count: they differ after every attempt, and
   * handlers do not wait for them alone. After `exactAttempts`, each patch counts as a change.
   */
  get version(): number {
    if (this.#hasCounted) this.#refresh()
    return this.#version
  }

  /** A handler wants this to be different. With `isCounted`, waiting handlers are called again if that has changed the object. */
  addPatch(patch: PendingPatch, { isCounted }: { readonly isCounted: boolean }): void {
    if (patch.fns.length === 0 && Object.keys(patch.merge).length === 0) return
    this.#isStale = true
    this.#mayHaveChanged ||= isCounted
    if (this.#attempts < this.#exactAttempts) this.#hasCounted ||= isCounted
    else if (isCounted) this.#version += 1
    this.#pending.add(patch)
    this.#sinceWrite?.patches.add(patch)
  }

  /** An attempt of the handler has ended: its progress record is another one from now on. */
  recordAttempt(id: string): void {
    this.#isStale = true
    this.#attempts += 1
    this.#ended.add(id)
    this.#sinceWrite?.ended.add(id)
  }

  /** All that was noted so far is being written, while a handler is running. */
  beginWrite(): void {
    this.#sinceWrite = { patches: new VisiblePatch(), ended: new Set() }
  }

  /** From now on the server's answer counts, with what was noted since that write began. */
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
