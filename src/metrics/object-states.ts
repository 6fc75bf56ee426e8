/**
 * The state of each object that is not handled: waiting, being handled, retrying, failed, or being deleted. An Observer listener for the metrics and the
 * dashboard. Handled objects are not kept: their number follows from the number of all objects.
 */
import type { Resource } from '../kube/resources/resources.ts'
import type { ObjectOutcome, ObservedObject, Observer } from '../observer.ts'
import { describeError } from '../util/log/describe-error.ts'
import { resourceLabel } from './resource-label.ts'

/**
 * The states of objects that are not handled, in the order of urgency.
 *
 * - `failed`: a handler has failed permanently for the present state.
 * - `retrying`: a handler or the framework will try again.
 * - `handling`: a worker processes the object.
 * - `waiting`: the object waits for a worker, or until its rate limit allows the next call.
 * - `deleting`: the object is being deleted, and waits for handlers, daemons or the finalizers of others.
 */
export type UnhandledState = 'failed' | 'retrying' | 'handling' | 'waiting' | 'deleting'

/** An object that is not handled. */
export interface UnhandledObject {
  readonly object: ObservedObject
  readonly state: UnhandledState
  /** When the object stopped being handled, in milliseconds of the monotonic clock. */
  readonly sinceMs: number
  /** The error of the last failed attempt. */
  readonly error: string | undefined
  /** When the next attempt is due, in milliseconds of the monotonic clock. */
  readonly nextMs: number | undefined
  /** Failed attempts since the object was handled last. */
  readonly errors: number
}

/** The number of objects by state, without the handled ones. */
export type StateCounts = Readonly<Record<UnhandledState, number>>

export interface ObjectStatesOptions {
  /** The time of the monotonic clock. */
  readonly nowMs: () => number
  /** Called when an object is handled, or forgotten while it was not. `elapsedMs`: since it stopped being handled. */
  readonly onHandled?: (object: ObservedObject, handled: HandledObject) => void
  /** Called when the operator has forgotten an object that was not handled. */
  readonly onRemoved?: (object: ObservedObject) => void
}

interface HandledObject {
  /** The time since the first change that was not handled. */
  readonly elapsedMs: number
  /** Whether a change handler or a reconciler was called since then. */
  readonly hasCalled: boolean
}

const maxErrorLength = 200

const noCounts: StateCounts = { failed: 0, retrying: 0, handling: 0, waiting: 0, deleting: 0 }

/** Handlers that run beside the processing of the object. */
const backgroundTypes: ReadonlySet<string> = new Set(['daemon', 'timer', 'index'])
/** Handlers that the API server calls: their failures are answers to others, and do not concern the object. */
const reviewTypes: ReadonlySet<string> = new Set(['validate', 'mutate', 'convert'])
/** Handlers whose calls do not handle a change. */
const otherTypes: ReadonlySet<string> = new Set([...backgroundTypes, ...reviewTypes, 'event'])

/** What is the case for an object. Several can be: `stateOf` names the most urgent one. */
class Entry implements UnhandledObject {
  readonly object: ObservedObject
  readonly label: string
  readonly sinceMs: number
  error: string | undefined
  nextMs: number | undefined
  errors = 0
  isWaiting = false
  isProcessed = false
  isDeleting = false
  /** The present processing has made a decision. */
  hasDecided = false
  /** The change handlers or the framework will try again. */
  isRetrying = false
  /** A change handler has failed for the present state. */
  hasFailed = false
  /** A rate limit delays the object. */
  isDelayed = false
  hasCalled = false
  /** The outcome of the reconcilers. */
  reconciling: ObjectOutcome | 'waiting' | undefined
  /** Daemons, timers and indexers that are retried or have failed, by id: at most the registered ones. */
  troubled: Map<string, 'retrying' | 'failed'> | undefined
  /** The state that is counted now. */
  counted: UnhandledState | undefined

  constructor(object: ObservedObject, sinceMs: number) {
    this.object = object
    this.label = resourceLabel(object.resource)
    this.sinceMs = sinceMs
  }

  get state(): UnhandledState {
    return this.counted ?? 'waiting'
  }
}

export class ObjectStates {
  /** By uid. Objects without a uid are not known here: those of a few aggregated APIs. */
  readonly #entries = new Map<string, Entry>()
  /** By the label of the resource. */
  readonly #counts = new Map<string, Record<UnhandledState, number>>()
  readonly #options: ObjectStatesOptions

  constructor(options: ObjectStatesOptions) {
    this.#options = options
  }

  /** The number of objects that are not handled. */
  get size(): number {
    return this.#entries.size
  }

  /** The state of an object; `handled` for every object that is not known here. */
  stateOf(uid: string): UnhandledState | 'handled' {
    return this.#entries.get(uid)?.state ?? 'handled'
  }

  find(uid: string): UnhandledObject | undefined {
    return this.#entries.get(uid)
  }

  /** All objects that are not handled. */
  all(): Iterable<UnhandledObject> {
    return this.#entries.values()
  }

  /** The number of objects of a resource that are not handled, by state. */
  countsOf(resource: Pick<Resource, 'group' | 'plural'>): StateCounts {
    return this.countsOfLabel(resourceLabel(resource))
  }

  /** As `countsOf`, by the label of the resource in series. */
  countsOfLabel(label: string): StateCounts {
    return this.#counts.get(label) ?? noCounts
  }

  readonly listener: Observer = {
    workQueued: ({ object }) => {
      const entry = this.#open(object)
      if (entry === undefined) return
      entry.isWaiting = true
      this.#settle(entry)
    },
    workDropped: ({ object }) => {
      const entry = this.#known(object)
      if (entry === undefined) return
      entry.isWaiting = false
      this.#settle(entry)
    },
    processingStarted: ({ object }) => {
      const entry = this.#open(object)
      if (entry === undefined) return
      entry.isWaiting = false
      entry.isProcessed = true
      entry.isDelayed = false
      entry.hasDecided = false
      this.#settle(entry)
    },
    decisionMade: ({ object, decision }) => {
      const entry = this.#known(object)
      if (entry === undefined) return
      entry.hasDecided = true
      entry.isDelayed = decision.type === 'wait'
      // The handlers are called for another state than the one for which they have failed.
      if (decision.type === 'handle' && decision.reason !== 'noop') entry.hasFailed = false
      this.#settle(entry)
    },
    processingFinished: ({ object, outcome, reconciling, error, delayMs, isDeleting }) => {
      const entry = this.#known(object)
      if (entry === undefined) return
      entry.isProcessed = false
      entry.isDeleting = isDeleting
      // Without a decision, for example for an echo of a write, the object still waits for the retry.
      if (entry.hasDecided || error !== undefined) entry.isRetrying = outcome === 'retrying' || error !== undefined
      entry.hasFailed ||= outcome === 'failed'
      entry.reconciling = reconciling
      entry.nextMs = delayMs === undefined ? undefined : this.#options.nowMs() + delayMs
      if (error !== undefined) recordError(entry, error)
      this.#settle(entry)
    },
    handlerStarted: ({ object, handler }) => {
      if (object === undefined || otherTypes.has(handler.type)) return
      const entry = this.#known(object)
      if (entry !== undefined) entry.hasCalled = true
    },
    handlerFinished: ({ object, handler, outcome, error, delayMs }) => {
      if (object === undefined || outcome === 'cancelled' || reviewTypes.has(handler.type)) return
      const hasTrouble = outcome === 'retrying' || outcome === 'failed'
      const isBackground = backgroundTypes.has(handler.type)
      // A timer may fail for an object that is handled: then it is not handled any more.
      const entry = hasTrouble && isBackground ? this.#open(object) : this.#known(object)
      if (entry === undefined) return
      if (hasTrouble) recordError(entry, error)
      if (!isBackground) return
      if (hasTrouble) noteTrouble(entry, handler.id, outcome)
      else entry.troubled?.delete(handler.id)
      if (delayMs !== undefined) entry.nextMs = this.#options.nowMs() + delayMs
      this.#settle(entry)
    },
    daemonStarted: ({ object, handler }) => {
      const entry = this.#known(object)
      if (entry?.troubled?.delete(handler.id)) this.#settle(entry)
    },
    daemonStopped: ({ object, handler }) => {
      const entry = this.#known(object)
      // A daemon that has failed permanently has ended, too.
      if (entry?.troubled?.get(handler.id) !== 'retrying') return
      entry.troubled.delete(handler.id)
      this.#settle(entry)
    },
    objectForgotten: ({ object }) => this.#remove(object),
  }

  #known({ uid }: ObservedObject): Entry | undefined {
    return uid === undefined ? undefined : this.#entries.get(uid)
  }

  /** The entry of an object that may be handled until now. Undefined for an object without a uid. */
  #open(object: ObservedObject): Entry | undefined {
    const { uid } = object
    if (uid === undefined) return undefined
    let entry = this.#entries.get(uid)
    if (entry === undefined) {
      entry = new Entry(object, this.#options.nowMs())
      this.#entries.set(uid, entry)
    }
    return entry
  }

  #settle(entry: Entry): void {
    const state = currentState(entry)
    if (state === entry.counted) return
    this.#count(entry, state)
    if (state !== undefined) return
    const { object, sinceMs, hasCalled } = entry
    this.#entries.delete(object.uid!)
    this.#options.onHandled?.(object, { elapsedMs: this.#options.nowMs() - sinceMs, hasCalled })
  }

  #remove({ uid }: ObservedObject): void {
    const entry = uid === undefined ? undefined : this.#entries.get(uid)
    if (entry === undefined) return
    this.#count(entry, undefined)
    this.#entries.delete(uid!)
    this.#options.onRemoved?.(entry.object)
  }

  #count(entry: Entry, state: UnhandledState | undefined): void {
    let counts = this.#counts.get(entry.label)
    if (counts === undefined) {
      counts = { ...noCounts }
      this.#counts.set(entry.label, counts)
    }
    if (entry.counted !== undefined) counts[entry.counted] -= 1
    if (state !== undefined) counts[state] += 1
    entry.counted = state
  }
}

function recordError(entry: Entry, error: unknown): void {
  entry.errors += 1
  entry.error = describeError(error).slice(0, maxErrorLength)
}

/** The most urgent of the states that apply. Undefined: nothing is left to do. */
function currentState(entry: Entry): UnhandledState | undefined {
  const { troubled, reconciling } = entry
  const hasTrouble = (outcome: 'retrying' | 'failed') =>
    troubled !== undefined && troubled.size > 0 && [...troubled.values()].includes(outcome)
  if (entry.hasFailed || reconciling === 'failed' || hasTrouble('failed')) return 'failed'
  if (entry.isRetrying || reconciling === 'retrying' || hasTrouble('retrying')) return 'retrying'
  if (entry.isProcessed) return 'handling'
  if (entry.isWaiting || entry.isDelayed || reconciling === 'waiting') return 'waiting'
  return entry.isDeleting ? 'deleting' : undefined
}

function noteTrouble(entry: Entry, id: string, outcome: 'retrying' | 'failed'): void {
  entry.troubled ??= new Map()
  entry.troubled.set(id, outcome)
}
