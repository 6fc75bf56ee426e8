/**
 * Converts objects to and from one version of a CRD with a conversion webhook. Verbs call `prepare` before they read revisions;
 * it batches objects into reviews, and callers that prepare the same revision share one review. Objects already in this version
 * are never sent, so that a webhook that is down does not affect reads of the stored version. Failures are not cached.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { type Clock, monotonicNow } from '../../util/async/clock.ts'
import type { WebhookConverter } from '../resource.ts'
import { apiVersionOf, type Stored, toStored, withVersion } from '../storage/stored.ts'
import type { WebhookConversion } from './webhook-conversion.ts'

/** Limits of one review: half of the maximum request body, and the usual page size of lists. */
const reviewCharacters = 1_500_000
const reviewObjects = 500

/**
 * How long a converted revision is reused, because many watches read the same object. Not longer, since the webhook's result
 * may change; the real server converts each time.
 */
const freshMs = 200

/** Maximum concurrent reviews per request. */
const reviewsAtOnce = 10

export class VersionConverter implements WebhookConverter {
  readonly #conversion: WebhookConversion
  readonly #apiVersion: string
  readonly #clock: Clock

  /** Converted revisions and the time of their conversion. They are never stored. */
  readonly #shown = new WeakMap<Stored, { readonly shown: Stored; readonly atMs: number }>()

  /** Revisions in a pending review. */
  readonly #asked = new Map<Stored, Promise<void>>()

  constructor(conversion: WebhookConversion, apiVersion: string, clock: Clock) {
    this.#conversion = conversion
    this.#apiVersion = apiVersion
    this.#clock = clock
  }

  prepare(states: readonly Stored[]): Promise<void> | undefined {
    const missing = new Set(states.map(originOf).filter((stored) => this.#needsWebhook(stored)))
    if (missing.size === 0) return undefined
    const unasked = [...missing].filter((stored) => !this.#asked.has(stored))
    const asking: Array<Promise<void>> = []
    for (const part of inReviews(unasked)) asking.push(this.#askFor(part, asking.at(-reviewsAtOnce)))
    return Promise.all([...missing].map((stored) => this.#asked.get(stored))).then(() => {})
  }

  show(stored: Stored): Stored {
    const known = this.#shown.get(stored)
    if (known !== undefined) return known.shown
    if (stored.origin !== undefined) return this.#keep(stored, withVersion(this.show(stored.origin), stored.version))
    if (!this.#isOwn(stored)) throw new Error(`${stored.key} was not converted to ${this.#apiVersion} beforehand`)
    return this.#keep(stored, this.#toShown(stored, this.#conversion.read(stored)))
  }

  async convert(object: KubeObject, apiVersion: string): Promise<KubeObject> {
    const [converted] = await this.#conversion.convert([object], apiVersion)
    return converted!
  }

  async toStorage(object: KubeObject): Promise<KubeObject> {
    const { storage } = this.#conversion
    return storage === this.#apiVersion ? object : this.#conversion.prune(await this.convert(object, storage))
  }

  #needsWebhook(stored: Stored): boolean {
    const { atMs = -Infinity } = this.#shown.get(stored) ?? {}
    return monotonicNow(this.#clock) - atMs > freshMs && !this.#isOwn(stored)
  }

  #isOwn(stored: Stored): boolean {
    return apiVersionOf(stored) === this.#apiVersion
  }

  /** Marks the revisions as pending at once, even if an earlier review must finish first. */
  #askFor(states: readonly Stored[], earlier: Promise<void> | undefined): Promise<void> {
    const forget = () => {
      for (const stored of states) this.#asked.delete(stored)
    }
    const asking = this.#ask(states, earlier).finally(forget)
    for (const stored of states) this.#asked.set(stored, asking)
    return asking
  }

  async #ask(states: readonly Stored[], earlier: Promise<void> | undefined): Promise<void> {
    await earlier?.catch(() => {})
    const objects = states.map((stored) => this.#conversion.read(stored))
    const converted = await this.#conversion.convert(objects, this.#apiVersion)
    for (const [index, stored] of states.entries()) {
      this.#keep(stored, this.#toShown(stored, this.#conversion.prune(converted[index]!)))
    }
  }

  #toShown({ collection, version }: Stored, object: KubeObject): Stored {
    return toStored(collection, object, version, this)
  }

  #keep(stored: Stored, shown: Stored): Stored {
    this.#shown.set(stored, { shown, atMs: monotonicNow(this.#clock) })
    return shown
  }
}

function originOf(stored: Stored): Stored {
  return stored.origin ?? stored
}

/** Splits the revisions into reviews of one version each, within the limits. */
function inReviews(states: readonly Stored[]): Stored[][] {
  const reviews: Stored[][] = []
  const open = new Map<string, { readonly states: Stored[]; characters: number }>()
  for (const stored of states) {
    const version = apiVersionOf(stored)
    const last = open.get(version)
    const isFull = last === undefined || last.states.length === reviewObjects
    if (isFull || last.characters + stored.json.length > reviewCharacters) {
      const fresh = { states: [stored], characters: stored.json.length }
      open.set(version, fresh)
      reviews.push(fresh.states)
    } else {
      last.states.push(stored)
      last.characters += stored.json.length
    }
  }
  return reviews
}
