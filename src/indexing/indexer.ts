/**
 * Keeps the indices up to date: calls the index handlers of a resource with the states of its objects, one state of an object
 * after the other. Called by object-indexing.ts before the state is queued for the worker. Writes nothing to the cluster.
 */
import type { IndexHandler } from '../handlers/handler.ts'
import type { IndexTable } from '../handlers/index-table.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import { type MatchContext, preMatches } from '../handlers/matching.ts'
import type { KubeObject } from '../kube/objects.ts'
import { assignAll } from '../util/assign-all.ts'
import type { Clock } from '../util/async/clock.ts'
import { hasPlainPrototype } from '../util/json/json.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { isOlder } from '../watching/resource-version.ts'

export interface IndexerOptions {
  /** By handler id. */
  readonly tables: ReadonlyMap<string, readonly IndexTable[]>
  readonly clock: Clock
  readonly execution: { readonly defaultBackoff: Duration }
  /** Passed to index handlers; aborted when the operator shuts down and their time is over. */
  readonly signal: AbortSignal
}

export class Indexer {
  readonly #options: IndexerOptions

  constructor(options: IndexerOptions) {
    this.#options = options
  }

  /** Indexes a new state. It is in the indices when `object.done` has resolved. */
  indexState(object: IndexedObject, state: IndexedState): void {
    object.version = state.body.metadata.resourceVersion
    const isOneWaiting = object.next !== undefined
    object.next = state
    if (isOneWaiting) return
    const done = object.done === undefined ? this.#takeNext(object) : object.done.then(() => this.#takeNext(object))
    object.done = done
    void done.then(() => {
      if (object.done === done) object.done = undefined
    })
  }

  /** Removes the object from the indices of these handlers. If the object returns, any state of it is indexed again. */
  discard(object: IndexedObject, handlers: readonly IndexHandler[]): void {
    object.isGone = true
    object.version = undefined
    object.next = undefined
    object.failures = undefined
    for (const handler of handlers) this.#drop(object, handler)
  }

  async #takeNext(object: IndexedObject): Promise<void> {
    const state = object.next
    object.next = undefined
    if (state === undefined) return
    const reserved = state.reserve?.()
    if (reserved === undefined) return this.#take(object, state)
    const release = await reserved
    await this.#take(object, state).finally(release)
  }

  async #take(object: IndexedObject, state: IndexedState): Promise<void> {
    const concerned = new Map<string, IndexHandler>()
    for (const handler of state.handlers) {
      if (object.isGone) return
      // The same function may be registered twice with different filters. One matching registration is enough.
      if (concerned.get(handler.id)?.fn === handler.fn) continue
      const isMatching = matches(handler, state)
      if (isMatching !== false) concerned.set(handler.id, handler)
      if (isMatching) await this.#index(object, handler, state)
    }
    for (const handler of state.handlers) if (!concerned.has(handler.id)) this.#drop(object, handler)
  }

  async #index(object: IndexedObject, handler: IndexHandler, state: IndexedState): Promise<void> {
    const { clock, execution, signal } = this.#options
    const before = object.failures?.get(handler.id) ?? { startedMs: clock.now(), retries: 0, untilMs: 0 }
    if (clock.now() < before.untilMs) return
    const { logger, watch, observer, observed } = state
    const defaultBackoffMs = toMs(execution.defaultBackoff)
    const { outcome } = await callHandler(
      // Indexing belongs to the watch, which has no spans.
      { clock, logger, watch, defaultBackoffMs, observer, tracing: undefined, object: observed },
      handler,
      {
        start: before,
        args: (own) => assignAll(state.args(), own, { signal }),
        finish: (result) => this.#put(object, handler, result),
      },
    )
    if (object.isGone) return
    if (outcome.type === 'done') {
      forgetFailure(object, handler)
      return
    }
    const delayMs = outcome.type === 'retry' ? outcome.delayMs : Infinity
    recordFailure(object, handler, { ...before, retries: before.retries + 1, untilMs: clock.now() + delayMs })
    this.#drop(object, handler)
  }

  /** Called as a part of the handler call, so that an invalid key is an error of the handler. */
  #put(object: IndexedObject, handler: IndexHandler, result: unknown): void {
    const pairs = toPairs(result)
    if (pairs === undefined || object.isGone) return
    for (const table of this.#tablesOf(handler)) table.put(object, pairs)
  }

  #drop(object: IndexedObject, handler: IndexHandler): void {
    for (const table of this.#tablesOf(handler)) table.discard(object)
  }

  #tablesOf({ id }: IndexHandler): readonly IndexTable[] {
    return this.#options.tables.get(id) ?? []
  }
}

/** Undefined if a filter has failed: the indexed values of the object then stay unchanged. */
function matches(handler: IndexHandler, state: IndexedState): boolean | undefined {
  try {
    return preMatches(handler, state)
  } catch (error) {
    state.logger.error(`${describeError(error)}. Its indexed values stay unchanged.`)
    return undefined
  }
}

/** A state of an object to be indexed. */
export interface IndexedState extends Pick<MatchContext, 'resource' | 'body' | 'args'> {
  readonly handlers: readonly IndexHandler[]
  readonly logger: Logger
  readonly watch: CallContext['watch']
  readonly observer: CallContext['observer']
  /** The object, for the observer. */
  readonly observed: CallContext['object']
  /** For a large object: waits until it may be parsed, and returns a function to call afterwards. */
  readonly reserve?: () => Promise<() => void> | undefined
}

/** The attempts of one index handler since its first failure. */
interface IndexFailure {
  readonly startedMs: number
  readonly retries: number
  /** The time before which the handler is not called again; `Infinity` for never. */
  readonly untilMs: number
}

/** The indexing state of one object. It is the key of the object's values in the index tables. */
export interface IndexedObject {
  /** The version of the newest state. */
  version: string | undefined
  /** By handler id; undefined if no handler has failed, which is the normal case. */
  failures: Map<string, IndexFailure> | undefined
  /** The newest state, while an older one is being indexed. States in between are skipped. */
  next: IndexedState | undefined
  /** Resolves when all states so far are indexed; undefined if they are. Never rejects. */
  done: Promise<void> | undefined
  /** The object was discarded: indexing in progress must not add values. */
  isGone: boolean
}

export function createIndexedObject(): IndexedObject {
  return { version: undefined, failures: undefined, next: undefined, done: undefined, isGone: false }
}

/** Whether a state must be indexed: it is newer than the last one, or it is the same and a handler has failed on it. */
export function isNewTo({ version, failures }: IndexedObject, { metadata }: KubeObject): boolean {
  const { resourceVersion } = metadata
  if (resourceVersion !== undefined && resourceVersion === version) return failures !== undefined
  return !isOlder(resourceVersion, version)
}

function recordFailure(object: IndexedObject, { id }: IndexHandler, failure: IndexFailure): void {
  object.failures ??= new Map()
  object.failures.set(id, failure)
}

/** Removes the failure of a handler that has succeeded. */
function forgetFailure(object: IndexedObject, { id }: IndexHandler): void {
  object.failures?.delete(id)
  if (object.failures?.size === 0) object.failures = undefined
}

type IndexPair = readonly [key: unknown, value: unknown]

/**
 * Returns the pairs of keys and values; undefined if the handler has returned nothing, so that the indexed values stay. Maps,
 * lists of pairs and plain objects are keys with values, also if they are empty. Any other value is stored under the key null.
 */
export function toPairs(result: unknown): readonly IndexPair[] | undefined {
  if (result === undefined || result === null) return undefined
  if (typeof result !== 'object') return [[null, result]]
  if (Symbol.iterator in result) return fromIterable(result as Iterable<unknown>)
  if (hasPlainPrototype(result) && !isKubeObject(result)) return Object.entries(result)
  return [[null, result]]
}

function fromIterable(result: Iterable<unknown>): readonly IndexPair[] {
  // A generator can be iterated only once.
  const items = Array.isArray(result) ? (result as readonly unknown[]) : [...result]
  const isIterator = 'next' in result
  const isMadeForPairs = Array.isArray(result) || result instanceof Map || isIterator
  if (items.every(isPair) && (items.length > 0 || isMadeForPairs)) return items
  return [[null, isIterator ? items : result]]
}

function isPair(item: unknown): item is IndexPair {
  return Array.isArray(item) && item.length === 2
}

/** A whole Kubernetes object is a single value, not a set of keys such as `metadata` and `spec`. */
function isKubeObject(value: object): boolean {
  const { apiVersion, kind, metadata } = value as Readonly<Record<string, unknown>>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata === 'object'
}
