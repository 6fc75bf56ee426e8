/**
 * To and from one version of a CRD with a conversion webhook. Asks for many objects in one review. The verbs have states
 * prepared before they look at them; who prepares the same a moment later shares the answer. Never asks for what is in its
 * version already: a webhook that is down hurts nobody who asks for what is stored. Nothing is kept of what failed.
 */
import type { KubeObject } from '../../kube/objects.ts'
import { type Clock, monotonicOf } from '../../util/clock.ts'
import type { Converter } from '../resource.ts'
import { apiVersionOf, type Stored, toStored, withVersion } from '../storage/stored.ts'
import type { WebhookConversion } from './webhook-conversion.ts'

/** No more than this goes into one review: half a body of a request, and as many as lists mostly have on a page. */
const reviewCharacters = 1_500_000
const reviewObjects = 500

/**
 * For so long an answer counts: many watch the same object. Not longer, for the webhook may be down by then, or know better; the
 * real server asks each time.
 */
const freshMs = 200

/** So many reviews of one request are under way at once. */
const reviewsAtOnce = 10

export class VersionConverter implements Converter {
  readonly #conversion: WebhookConversion
  readonly #apiVersion: string
  readonly #clock: Clock

  /** States in this version, and since when. They are never stored. */
  readonly #shown = new WeakMap<Stored, { readonly shown: Stored; readonly atMs: number }>()

  /** What the webhook is being asked for. */
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
    return monotonicOf(this.#clock) - atMs > freshMs && !this.#isOwn(stored)
  }

  #isOwn(stored: Stored): boolean {
    return apiVersionOf(stored) === this.#apiVersion
  }

  /** Known as asked for from now on, even where another review has to come back first. */
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
    this.#shown.set(stored, { shown, atMs: monotonicOf(this.#clock) })
    return shown
  }
}

function originOf(stored: Stored): Stored {
  return stored.origin ?? stored
}

/** States of one version each, in reviews that are not too large. */
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
