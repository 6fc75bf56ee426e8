/**
 * Objects that are kept as text because they are large: how many of them are parsed at the same time, and which ones are too large
 * to be handled. Asked by worker.ts, event-handling.ts, object-indexing.ts and background.ts; how the text is kept is in util/json/lazy-json.ts.
 */
import { getHeapStatistics } from 'node:v8'
import { hasFinalizer, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Settings } from '../settings/settings.ts'
import { Budget } from '../util/async/budget.ts'
import { lazyMembersOf, weightOf } from '../util/json/lazy-json.ts'

/** Of V8's heap, for each of the budgets. While an object is handled there are copies of it: its essence, and the answers to writes. */
const heapShare = 1 / 12

/** So much text of one object may wait for its worker in several states, for event handlers; of larger objects only the last state. */
const maxWaitingBytes = 64 * 1024

/** Far less than the annotations of an object can hold. The digest of such an object takes a few milliseconds. */
const maxStoredBytes = 128 * 1024

export class LargeObjects {
  readonly #settings: Settings
  readonly #handling = new Budget(limitOf)
  /** Workers wait for the indices while they are at work: with one budget for both, each could wait for the other. */
  readonly #indexing = new Budget(limitOf)

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /**
   * Whether no handler is called for the object. One that is being deleted and has our finalizer is handled at any size, so
   * that its deletion does not hang; unless there are members of it that were never kept.
   */
  isTooLarge(body: KubeObject): boolean {
    const { bytes, isCut } = weightOf(body)
    const { maxObjectBytes } = this.#settings.watching
    if (isCut) return true
    if (maxObjectBytes === null || bytes <= maxObjectBytes) return false
    return !isDeletionOngoing(body) || !hasFinalizer(body, this.#settings.persistence.finalizer)
  }

  /** Whether states of the object wait one by one where event handlers want to see each of them. */
  canWaitInStates(body: KubeObject): boolean {
    return weightOf(body).bytes <= maxWaitingBytes
  }

  /** Whether the object is kept as text, and a handler may be called for it. */
  isParsedInTurn(body: KubeObject): boolean {
    return weightOf(body).bytes > 0 && !this.isTooLarge(body)
  }

  /** Whether the annotations of the object may have no room for its essence, and a digest is stored instead. */
  isDigested(body: KubeObject): boolean {
    return weightOf(body).bytes > maxStoredBytes
  }

  /** Undefined where the object is not large: then nothing is to be waited for. */
  reserveHandling(bodies: Iterable<KubeObject>): Reservation | undefined {
    return reserve(this.#handling, bodies)
  }

  /** For one call of a timer: the object is parsed when it resolves. Undefined where the object is not large. */
  reserveCall(body: KubeObject): Promise<() => void> | undefined {
    return reserveParsed(this.#handling, body)
  }

  /** The same for indexing functions. */
  reserveIndexing(body: KubeObject): Promise<() => void> | undefined {
    return reserveParsed(this.#indexing, body)
  }
}

/**
 * Keeps the newest state of a large object parsed while the object is handled: otherwise it would be parsed again for each handler and
 * each write. Nothing is done for small objects.
 */
export class HeldParse {
  #releases: Array<() => void> = []

  /** Replaces the state that was held before. Resolves when all of the new one is parsed; other work is done in between. */
  async hold(body: KubeObject): Promise<void> {
    const members = [...lazyMembersOf(body).values()]
    const releases = members.map((member) => member.hold())
    this.release()
    this.#releases = releases
    for (const member of members) await member.prepare()
  }

  release(): void {
    for (const release of this.#releases) release()
    this.#releases = []
  }
}

export interface Reservation {
  readonly mustWait: boolean
  /** Resolves with the function that ends it. */
  readonly begun: Promise<() => void>
}

/** The largest of the states counts: they are parsed one after the other. */
function reserve(budget: Budget, bodies: Iterable<KubeObject>): Reservation | undefined {
  let cost = 0
  for (const body of bodies) cost = Math.max(cost, weightOf(body).cost)
  return cost === 0 ? undefined : { mustWait: budget.isExceededBy(cost), begun: budget.acquire(cost) }
}

function reserveParsed(budget: Budget, body: KubeObject): Promise<() => void> | undefined {
  return reserve(budget, [body])?.begun.then(async (end) => {
    const held = new HeldParse()
    await held.hold(body)
    return () => {
      held.release()
      end()
    }
  })
}

function limitOf(): number {
  return getHeapStatistics().heap_size_limit * heapShare
}
