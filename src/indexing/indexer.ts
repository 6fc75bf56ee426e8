/**
 * Keeps the indices up to date: applies the indexing functions of a resource to the states of its objects, one state of an
 * object after the other. Fed at the door by running/, before anybody else is told of the state. Writes nothing anywhere.
 */
import type { IndexHandler } from '../handlers/handler.ts'
import type { IndexTable } from '../handlers/index-table.ts'
import { type CallContext, callHandler } from '../handlers/invoke.ts'
import { type MatchContext, preMatches } from '../handlers/matching.ts'
import type { KubeObject } from '../kube/objects.ts'
import { assignAll } from '../util/assign-all.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { Logger } from '../util/log/log.ts'
import { type Duration, toMs } from '../util/text/duration.ts'
import { isOlder } from '../watching/resource-version.ts'
import { toPairs } from './pairs.ts'

export interface IndexerOptions {
  /** By id. */
  readonly tables: ReadonlyMap<string, readonly IndexTable[]>
  readonly clock: Clock
  readonly execution: { readonly defaultBackoff: Duration }
  /** For the functions: aborted when they have no more time. */
  readonly signal: AbortSignal
}

export class Indexer {
  readonly #options: IndexerOptions

  constructor(options: IndexerOptions) {
    this.#options = options
  }

  /** It is in the indices when `object.done` has resolved. */
  bring(object: IndexedObject, sight: IndexedState): void {
    object.version = sight.body.metadata.resourceVersion
    const isOneWaiting = object.next !== undefined
    object.next = sight
    if (isOneWaiting) return
    const done = object.done === undefined ? this.#takeNext(object) : object.done.then(() => this.#takeNext(object))
    object.done = done
    void done.then(() => {
      if (object.done === done) object.done = undefined
    })
  }

  /** Nothing of the object stays in the indices of these handlers; should it come back, in whatever state, that is news. */
  discard(object: IndexedObject, handlers: readonly IndexHandler[]): void {
    object.isGone = true
    object.version = undefined
    object.next = undefined
    object.failures = undefined
    for (const handler of handlers) this.#drop(object, handler)
  }

  async #takeNext(object: IndexedObject): Promise<void> {
    const sight = object.next
    object.next = undefined
    if (sight === undefined) return
    const reserved = sight.reserve?.()
    if (reserved === undefined) return this.#take(object, sight)
    const release = await reserved
    await this.#take(object, sight).finally(release)
  }

  async #take(object: IndexedObject, sight: IndexedState): Promise<void> {
    const concerned = new Map<string, IndexHandler>()
    for (const handler of sight.handlers) {
      if (object.isGone) return
      // The same function may be registered twice, with other filters: one that matches is enough.
      if (concerned.get(handler.id)?.fn === handler.fn) continue
      const isMatching = matches(handler, sight)
      if (isMatching !== false) concerned.set(handler.id, handler)
      if (isMatching) await this.#index(object, handler, sight)
    }
    for (const handler of sight.handlers) if (!concerned.has(handler.id)) this.#drop(object, handler)
  }

  async #index(object: IndexedObject, handler: IndexHandler, sight: IndexedState): Promise<void> {
    const { clock, execution, signal } = this.#options
    const before = object.failures?.get(handler.id) ?? { startedMs: clock.now(), retries: 0, untilMs: 0 }
    if (clock.now() < before.untilMs) return
    const { logger, watch, observer, observed } = sight
    const defaultBackoffMs = toMs(execution.defaultBackoff)
    const { outcome } = await callHandler(
      { clock, logger, watch, defaultBackoffMs, observer, object: observed },
      handler,
      {
        start: before,
        args: (own) => assignAll(sight.args(), own, { signal }),
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

  /** While the call lasts, so that a key which cannot be one is an error of the function. */
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

/** Undefined where a filter has failed: then the values stay as they are. */
function matches(handler: IndexHandler, sight: IndexedState): boolean | undefined {
  try {
    return preMatches(handler, sight)
  } catch (error) {
    sight.logger.error(`${describeError(error)}. What is indexed of it stays as it is.`)
    return undefined
  }
}

/** What stands for one object in the indices, and what is remembered of indexing it. Goes with the object. */

/** A state of an object, for those who index it. */
export interface IndexedState extends Pick<MatchContext, 'resource' | 'body' | 'args'> {
  readonly handlers: readonly IndexHandler[]
  readonly logger: Logger
  readonly watch: CallContext['watch']
  readonly observer: CallContext['observer']
  /** The object, for the observer. */
  readonly observed: CallContext['object']
  /** For a large object: resolves when it may be parsed, with the function to be called afterwards. */
  readonly reserve?: () => Promise<() => void> | undefined
}

/** The attempts of one function since the first that failed. */
interface IndexFailure {
  readonly startedMs: number
  readonly retries: number
  /** Not called again before; `Infinity` for never. */
  readonly untilMs: number
}

export interface IndexedObject {
  /** Of the newest state that was brought. */
  version: string | undefined
  /** By the id of the function; undefined where none has failed, as is the case nearly always. */
  failures: Map<string, IndexFailure> | undefined
  /** The newest state, while an older one is being indexed; those in between are passed over. */
  next: IndexedState | undefined
  /** Resolves when all that was brought so far is in the indices; undefined when it is. Never rejects. */
  done: Promise<void> | undefined
  /** It was discarded: what was under way then must not come in. */
  isGone: boolean
}

export function createIndexedObject(): IndexedObject {
  return { version: undefined, failures: undefined, next: undefined, done: undefined, isGone: false }
}

/** Not what is older than the last one that was brought; nor that one again, unless it may fare better. */
export function isNewTo({ version, failures }: IndexedObject, { metadata }: KubeObject): boolean {
  const { resourceVersion } = metadata
  if (resourceVersion !== undefined && resourceVersion === version) return failures !== undefined
  return !isOlder(resourceVersion, version)
}

function recordFailure(object: IndexedObject, { id }: IndexHandler, failure: IndexFailure): void {
  object.failures ??= new Map()
  object.failures.set(id, failure)
}

/** Success leaves no trace but the values. */
function forgetFailure(object: IndexedObject, { id }: IndexHandler): void {
  object.failures?.delete(id)
  if (object.failures?.size === 0) object.failures = undefined
}
