/**
 * Numbers of a run for the views of the dashboard: handlers, requests, streams, reviews, and a history of samples. Observer listener; every table is bounded.
 */

import { maskTextOf } from '../journal/mask.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { formatResource } from '../kube/resources/selectors.ts'
import type { ObservedHandler, ObservedObject, ObservedStream, Observer } from '../observer.ts'
import type { Clock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import { Durations, Rate, round } from './durations.ts'
import type { Sample, WebhooksView } from './protocol.ts'

const maxHandlers = 1000
const maxRequestRows = 500
const maxStreams = 2000
const handlerDurations = 1000
const requestDurations = 200
const maxSlowest = 5
const maxRecentReviews = 50
const maxMessageLength = 1000
const maxNameLength = 253
const maxOperationLength = 20

type ReviewEvent = Parameters<NonNullable<Observer['reviewAnswered']>>[0]

interface SlowCall {
  readonly object: ObservedObject
  readonly durationMs: number
}

export interface HandlerNumbers {
  readonly id: string
  readonly type: string
  readonly resource: Resource | undefined
  readonly durations: Durations
  calls: number
  succeeded: number
  retrying: number
  failed: number
  running: number
  /** Slowest first; each object once. */
  slowest: readonly SlowCall[]
  lastError:
    | { readonly message: string; readonly atMs: number; readonly object: ObservedObject | undefined }
    | undefined
}

export interface RequestNumbers {
  readonly purpose: string
  readonly method: string
  readonly code: string
  readonly rate: Rate
  readonly durations: Durations
  lastAtMs: number
}

export interface StreamNumbers {
  readonly resource: Resource
  readonly namespace: string | undefined
  isOpen: boolean
  restarts: number
  downSinceMs: number | undefined
  lastError: string | undefined
  /** When the last data has arrived. */
  lastAtMs: number
}

export interface ReviewNumbers {
  reviews: number
  denials: number
  errors: number
  readonly durations: Durations
}

export interface RecentReview {
  readonly row: WebhooksView['recent'][number]
  /** The reviewed object, which only some users may see. */
  readonly subject:
    | (Pick<RecentReview['row'], 'name' | 'operation' | 'message'> & {
        readonly resource: Resource
        readonly namespace: string | undefined
      })
    | undefined
}

export interface StatisticsOptions {
  readonly clock: Clock
  readonly bodyOf: (object: ObservedObject) => KubeObject | undefined
}

export class Statistics {
  readonly handlers: Map<string, HandlerNumbers> = new Map()
  readonly requests: Map<string, RequestNumbers> = new Map()
  readonly streams: Map<string, StreamNumbers> = new Map()
  readonly events: Rate = new Rate()
  readonly handlerCalls: Rate = new Rate()
  readonly handlerErrors: Rate = new Rate()
  readonly allRequests: Rate = new Rate()
  /** By the id of the handler. */
  readonly reviewsByHandler: Map<string, ReviewNumbers> = new Map()
  readonly reviews: { count: number; denials: number } = { count: 0, denials: 0 }
  recentReviews: readonly RecentReview[] = []
  daemons = 0
  phase: 'starting' | 'running' | 'stopping' | 'stopped' = 'starting'
  leader: 'none' | 'awaited' | 'candidate' | 'leading' | 'lost' = 'none'
  server: string | undefined
  readonly pausedNamespaces: Set<string> = new Set()
  /** Increases with each event: views are computed again only if it has changed. */
  revision = 0
  readonly #options: StatisticsOptions

  constructor(options: StatisticsOptions) {
    this.#options = options
  }

  readonly listener: Observer = {
    phaseChanged: ({ phase }) => {
      this.phase = phase
      this.revision += 1
    },
    connected: ({ server }) => {
      this.server = server
    },
    leadershipChanged: ({ state }) => {
      this.leader = state
      this.revision += 1
    },
    peeringChanged: ({ namespace, isPaused }) => {
      this.revision += 1
      if (namespace === undefined) return
      if (isPaused && this.pausedNamespaces.size < 1000) this.pausedNamespaces.add(namespace)
      else this.pausedNamespaces.delete(namespace)
    },
    streamOpened: (stream) => this.#open(stream, false),
    streamResumed: (stream) => this.#open(stream, true),
    streamFailed: ({ error, ...stream }) => {
      const numbers = this.#streamOf(stream)
      if (numbers === undefined) return
      numbers.isOpen = false
      numbers.downSinceMs ??= this.#nowMs
      numbers.lastError = maskTextOf(undefined, describeError(error), maxMessageLength)
      this.revision += 1
    },
    streamReceived: (stream) => {
      const numbers = this.#streamOf(stream)
      if (numbers !== undefined) numbers.lastAtMs = this.#nowMs
    },
    streamEnded: ({ resource, namespace }) => {
      this.streams.delete(`${formatResource(resource)} ${namespace ?? ''}`)
      this.revision += 1
    },
    listed: () => this.#changed(),
    resourceServed: () => this.#changed(),
    eventReceived: () => {
      this.events.add(this.#nowMs)
      this.revision += 1
    },
    objectQueued: () => this.#changed(),
    processingStarted: () => this.#changed(),
    processingFinished: () => this.#changed(),
    handlerStarted: ({ handler, object }) => {
      this.#handlerOf(handler, object).running += 1
      this.revision += 1
    },
    handlerFinished: (call) => this.#finish(call),
    requestFinished: ({ method, purpose, code, durationMs }) => {
      this.allRequests.add(this.#nowMs)
      const numbers = this.#requestOf(purpose, method, code === undefined ? 'error' : String(code))
      numbers.rate.add(this.#nowMs)
      numbers.lastAtMs = this.#nowMs
      // A watch is reported when its response begins.
      numbers.durations.add(durationMs)
      this.revision += 1
    },
    daemonStarted: () => {
      this.daemons += 1
      this.revision += 1
    },
    daemonStopped: () => {
      this.daemons -= 1
      this.revision += 1
    },
    childApplied: () => this.#changed(),
    childDeleted: () => this.#changed(),
    contentionFound: () => this.#changed(),
    eventPosted: () => this.#changed(),
    patchWritten: () => this.#changed(),
    stateObserved: () => this.#changed(),
    reviewAnswered: (review) => this.#review(review),
  }

  sample({ queue, lagMs }: { readonly queue: number; readonly lagMs: number }): Sample {
    const nowMs = this.#nowMs
    return {
      atMs: nowMs,
      events: this.events.perSecond(nowMs),
      handlerCalls: this.handlerCalls.perSecond(nowMs),
      handlerErrors: this.handlerErrors.perSecond(nowMs),
      requests: this.allRequests.perSecond(nowMs),
      queue,
      lagMs,
    }
  }

  get #nowMs(): number {
    return this.#options.clock.now()
  }

  #changed(): void {
    this.revision += 1
  }

  #open(stream: ObservedStream, isRestart: boolean): void {
    const numbers = this.#streamOf(stream)
    if (numbers === undefined) return
    numbers.isOpen = true
    numbers.downSinceMs = undefined
    numbers.lastError = undefined
    numbers.lastAtMs = this.#nowMs
    if (isRestart) numbers.restarts += 1
    this.revision += 1
  }

  #streamOf({ resource, namespace }: ObservedStream): StreamNumbers | undefined {
    const key = `${formatResource(resource)} ${namespace ?? ''}`
    const known = this.streams.get(key)
    if (known !== undefined || this.streams.size >= maxStreams) return known
    const numbers: StreamNumbers = {
      resource,
      namespace,
      isOpen: false,
      restarts: 0,
      downSinceMs: undefined,
      lastError: undefined,
      lastAtMs: this.#nowMs,
    }
    this.streams.set(key, numbers)
    return numbers
  }

  /** The author of an object may choose the ids of sub-handlers: beyond the limit, the calls count for the handler above them. */
  #handlerOf({ id, type }: ObservedHandler, object: ObservedObject | undefined): HandlerNumbers {
    const resource = object?.resource
    const keyFor = (name: string) => `${resource === undefined ? '' : formatResource(resource)} ${type} ${name}`
    const known = this.handlers.get(keyFor(id))
    if (known !== undefined) return known
    const shown = this.handlers.size < maxHandlers ? id : `${id.split('/', 1)[0]}/…`
    const key = keyFor(shown)
    const numbers = this.handlers.get(key) ?? {
      id: shown,
      type,
      resource,
      durations: new Durations(handlerDurations),
      ...{ calls: 0, succeeded: 0, retrying: 0, failed: 0, running: 0 },
      slowest: [],
      lastError: undefined,
    }
    this.handlers.set(key, numbers)
    return numbers
  }

  #finish(call: Parameters<NonNullable<Observer['handlerFinished']>>[0]): void {
    const { handler, object, outcome, durationMs, error } = call
    const numbers = this.#handlerOf(handler, object)
    this.revision += 1
    this.handlerCalls.add(this.#nowMs)
    // A call is not started if the `timeout` or the `retries` of the handler are used up.
    numbers.running = Math.max(0, numbers.running - 1)
    numbers.calls += 1
    if (outcome !== 'cancelled') numbers[outcome] += 1
    numbers.durations.add(durationMs)
    if (object !== undefined) numbers.slowest = withCall(numbers.slowest, { object, durationMs })
    if (outcome === 'succeeded' || outcome === 'cancelled' || error === undefined) return
    this.handlerErrors.add(this.#nowMs)
    const body = object && this.#options.bodyOf(object)
    const message = maskTextOf(body, describeError(error), maxMessageLength)
    numbers.lastError = { message, atMs: this.#nowMs, object }
  }

  #requestOf(purpose: string, method: string, code: string): RequestNumbers {
    const key = `${purpose} ${method} ${code}`
    const known = this.requests.get(key)
    if (known !== undefined) return known
    const isFull = this.requests.size >= maxRequestRows
    if (isFull && purpose !== 'other') return this.#requestOf('other', method, code)
    const durations = new Durations(requestDurations)
    const numbers = { purpose, method, code, rate: new Rate(), durations, lastAtMs: 0 }
    if (!isFull) this.requests.set(key, numbers)
    return numbers
  }

  #review(review: ReviewEvent): void {
    const { type, allowed, handler, durationMs } = review
    const isError = type === 'admission' && allowed === undefined
    this.reviews.count += 1
    if (allowed === false) this.reviews.denials += 1
    if (handler !== undefined) {
      const numbers = this.#reviewsOf(handler.id)
      numbers.reviews += 1
      if (allowed === false) numbers.denials += 1
      if (isError) numbers.errors += 1
      numbers.durations.add(durationMs)
    }
    const row = {
      atMs: this.#nowMs,
      type,
      ...(handler !== undefined && { handler: handler.id }),
      ...(allowed !== undefined && { allowed }),
      durationMs: round(durationMs),
    }
    const subject = this.#subjectOf(review)
    this.recentReviews = [{ row, subject }, ...this.recentReviews.slice(0, maxRecentReviews - 1)]
    this.revision += 1
  }

  /** The texts are cut: any client that reaches the port of the webhook server may have sent them. */
  #subjectOf({ object, body, operation = '', message }: ReviewEvent): RecentReview['subject'] {
    if (object === undefined) return undefined
    const { resource, namespace, name } = object
    // The message may repeat values of the state that is asked for, or of the present one.
    const masked =
      message && maskTextOf(this.#options.bodyOf(object), maskTextOf(body, message, maxMessageLength), maxMessageLength)
    return {
      resource,
      namespace: namespace?.slice(0, maxNameLength),
      ...(name !== '' && { name: name.slice(0, maxNameLength) }),
      ...(operation !== '' && { operation: operation.slice(0, maxOperationLength) }),
      ...(masked !== undefined && { message: masked }),
    }
  }

  #reviewsOf(id: string): ReviewNumbers {
    const known = this.reviewsByHandler.get(id)
    if (known !== undefined) return known
    const numbers = { reviews: 0, denials: 0, errors: 0, durations: new Durations(handlerDurations) }
    if (this.reviewsByHandler.size < maxHandlers) this.reviewsByHandler.set(id, numbers)
    return numbers
  }
}

/** The slowest calls with this one; each object is listed once. */
function withCall(slowest: readonly SlowCall[], call: SlowCall): readonly SlowCall[] {
  const last = slowest.at(-1)
  if (slowest.length === maxSlowest && last !== undefined && last.durationMs >= call.durationMs) return slowest
  const isSame = ({ object }: SlowCall) =>
    object.name === call.object.name && object.namespace === call.object.namespace
  const before = slowest.find(isSame)
  if (before !== undefined && before.durationMs >= call.durationMs) return slowest
  const others = slowest.filter((one) => one !== before)
  return [...others, call].sort((a, b) => b.durationMs - a.durationMs).slice(0, maxSlowest)
}
