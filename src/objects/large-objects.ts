/**
 * Limits the memory for large objects, which are kept as JSON text (util/json/lazy-json.ts): how many are parsed at the same time, and which objects are too
 * large to be handled. Used by the worker and by the features.
 */
import { getHeapStatistics } from 'node:v8'
import { hasFinalizer, isDeletionOngoing } from '../kube/finalizers.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Settings } from '../settings/settings.ts'
import { Budget } from '../util/async/budget.ts'
import { lazyMembersOf, weightOf } from '../util/json/lazy-json.ts'

/** The share of V8's heap for each budget. It is small because handling an object creates copies: its essence, and responses to writes. */
const heapShare = 1 / 12

/** Event handlers see every state of an object up to this size; of larger objects, only the last state waits in the queue. */
const maxQueuedBytes = 64 * 1024

/** The essence of larger objects is stored as a digest. Half of the 256 KiB that Kubernetes allows for annotations; a digest takes a few milliseconds. */
const maxStoredBytes = 128 * 1024

export class LargeObjects {
  readonly #settings: Settings
  readonly #handling = new Budget(limitOf)
  /** A separate budget: workers wait for the indices while they hold the other budget, so that a shared one could deadlock. */
  readonly #indexing = new Budget(limitOf)

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /**
   * Whether the object is too large to be handled. An object that is being deleted and has the operator's finalizer is handled at any size, so that its deletion
   * does not hang, unless it has so many top-level fields that some were not kept.
   */
  isTooLarge(body: KubeObject): boolean {
    const { bytes, isCut } = weightOf(body)
    const { maxObjectBytes } = this.#settings.watching
    if (isCut) return true
    if (maxObjectBytes === null || bytes <= maxObjectBytes) return false
    return !isDeletionOngoing(body) || !hasFinalizer(body, this.#settings.persistence.finalizer)
  }

  /** Whether all states of the object may wait in the queue for event handlers, rather than only the last one. */
  canWaitInStates(body: KubeObject): boolean {
    return weightOf(body).bytes <= maxQueuedBytes
  }

  /** Whether the object is kept as text and small enough to be handled: then it is parsed under a budget. */
  isParsedInTurn(body: KubeObject): boolean {
    return weightOf(body).bytes > 0 && !this.isTooLarge(body)
  }

  /** Whether the essence may be too large for the annotations of the object, so that a digest is stored instead. */
  isDigested(body: KubeObject): boolean {
    return weightOf(body).bytes > maxStoredBytes
  }

  /** Reserves memory to process these states. Returns undefined for small objects, which need no reservation. */
  reserveHandling(bodies: Iterable<KubeObject>): Reservation | undefined {
    return reserve(this.#handling, bodies)
  }

  /** Reserves memory for one call of a timer, and parses the object. Returns undefined for small objects. */
  reserveCall(body: KubeObject): Promise<() => void> | undefined {
    return reserveParsed(this.#handling, body)
  }

  /** Reserves memory for one call of an indexing function, and parses the object. Returns undefined for small objects. */
  reserveIndexing(body: KubeObject): Promise<() => void> | undefined {
    return reserveParsed(this.#indexing, body)
  }
}

/**
 * Keeps the newest state of a large object parsed while the object is handled: otherwise it would be parsed again for each handler and each write. Does nothing
 * for small objects.
 */
export class HeldParse {
  #releases: Array<() => void> = []

  /** Holds another state and releases the former one. Resolves when the state is parsed; the event loop runs in between. */
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
  /** Resolves when the memory is reserved, with the function that releases it. */
  readonly begun: Promise<() => void>
}

/** Reserves the memory of the largest state, since the states are parsed one after the other. */
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
