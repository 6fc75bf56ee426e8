/**
 * Which states of an object the handlers have seen. While some are done and others still wait, the states that were seen
 * are kept on the object, by their digests: so that everybody can be told what has changed since, after a restart too.
 */

import type { Cause, Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { diffEssences } from '../causation/diff.ts'
import { digestEssence } from '../causation/essence.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { DiffBaseStorage } from '../persistence/diffbase-storage.ts'

/**
 * The author of an object can write states, and digests of states, by the thousand; each costs a comparison with the whole object.
 * Handlers finish on as many states as there are edits between their attempts: more than these do not occur otherwise.
 */
const maxStates = 32

export class SeenStates {
  readonly #cause: Cause
  readonly #body: KubeObject
  readonly #storage: DiffBaseStorage
  #current: string | undefined
  #older: ReadonlyMap<string, Essence> | undefined
  /** By the state they count from: all digests of states that are not known share one. */
  readonly #rests = new Map<Essence | undefined, Cause>()

  constructor(cause: Cause, body: KubeObject, storage: DiffBaseStorage) {
    this.#cause = cause
    this.#body = body
    this.#storage = storage
  }

  /** The digest of the state at hand; only worked out where somebody has to remember it. */
  get current(): string {
    this.#current ??= digestEssence(this.#cause.new)
    return this.#current
  }

  /** What is new for one who has seen that state. */
  restSince(digest: string): Cause {
    const old = this.#essences().get(digest) ?? this.#cause.old
    const known = this.#rests.get(old)
    if (known !== undefined) return known
    const diff = diffEssences(old, this.#cause.new)
    const rest: Cause = { reason: 'update', initial: false, old, new: this.#cause.new, diff }
    this.#rests.set(old, rest)
    return rest
  }

  /** Keeps the states that somebody still counts from, and no others. */
  store(wanted: ReadonlySet<string>, body: KubeObject, patch: JsonObject): void {
    if (wanted.size === 0) return
    const essences = new Map([...this.#essences()].filter(([digest]) => wanted.has(digest)))
    if (wanted.has(this.current)) essences.set(this.current, this.#cause.new)
    if (essences.size > 0) this.#storage.storeSeen({ body, patch, essences })
  }

  purge(body: KubeObject, patch: JsonObject): void {
    this.#storage.purgeSeen({ body, patch })
  }

  #essences(): ReadonlyMap<string, Essence> {
    if (this.#older === undefined) {
      const seen = [...this.#storage.fetchSeen({ body: this.#body })].slice(-maxStates)
      // The framework stores digests here, but an author who may annotate the Secret can write anything.
      this.#older = new Map(seen.map(([digest, essence]) => [digest, concealSecret(essence, this.#body)]))
    }
    return this.#older
  }
}
