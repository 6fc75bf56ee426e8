/**
 * The essences that handlers have seen. While some handlers have finished and others are retried, the essences are stored on the object by their
 * digests, so that each handler can be called for the changes since its own, even after a restart.
 */

import type { Cause, Essence } from '../causation/cause.ts'
import { concealSecret } from '../causation/conceal-secrets.ts'
import { diffEssences } from '../causation/diff.ts'
import { digestEssence } from '../causation/essence.ts'
import type { JsonObject, KubeObject } from '../kube/objects.ts'
import type { DiffBaseStorage } from '../persistence/diffbase-storage.ts'

/**
 * The maximum number of stored essences that are read. Each costs a comparison with the whole object, and the author of the object can forge thousands.
 * Real ones are few: one per edit between two attempts of a handler.
 */
const maxStates = 32

export class SeenStates {
  readonly #cause: Cause
  readonly #body: KubeObject
  readonly #storage: DiffBaseStorage
  #current: string | undefined
  #older: ReadonlyMap<string, Essence> | undefined
  /** Computed causes by their old essence. All unknown digests share one. */
  readonly #rests = new Map<Essence | undefined, Cause>()

  constructor(cause: Cause, body: KubeObject, storage: DiffBaseStorage) {
    this.#cause = cause
    this.#body = body
    this.#storage = storage
  }

  /** The digest of the current essence; computed only when it is stored or compared. */
  get current(): string {
    this.#current ??= digestEssence(this.#cause.new)
    return this.#current
  }

  /** The changes since the essence with this digest, as an update. For an unknown digest, the whole change. */
  restSince(digest: string): Cause {
    const old = this.#essences().get(digest) ?? this.#cause.old
    const known = this.#rests.get(old)
    if (known !== undefined) return known
    const diff = diffEssences(old, this.#cause.new)
    const rest: Cause = { reason: 'update', initial: false, old, new: this.#cause.new, diff }
    this.#rests.set(old, rest)
    return rest
  }

  /** Stores the essences with these digests, and no others. */
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
      // The operator stores digests of secret values here, but a user who may annotate the Secret can write anything.
      this.#older = new Map(seen.map(([digest, essence]) => [digest, concealSecret(essence, this.#body)]))
    }
    return this.#older
  }
}
