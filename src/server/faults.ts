/** Fault injection for tests: a plan of faults that requests run into. Without faults it costs one check of an empty list. */
import type { Clock } from '../util/async/clock.ts'
import type { ApiResponse } from './call.ts'
import { type BodyInterruption, ConnectionFault, InterruptibleBody } from './interruptible-body.ts'
import type { Verb } from './request.ts'
import { StatusError } from './status.ts'

/** Selects the requests that a fault applies to. All given fields must match; omitted fields match anything. */
export interface FaultMatch {
  /** The API verb, for example `patch` or `watch`. */
  readonly verb?: Verb
  /** The resource with its group: `gadgets.example.com` or `pods`. */
  readonly resource?: string
  /** The subresource, for example `status`; '' for requests to the object itself. */
  readonly subresource?: string
  /** The namespace of the request; '' for cluster-scoped requests and requests across namespaces. */
  readonly namespace?: string
  /** The name of the object; '' for requests to a collection. */
  readonly name?: string
  /** The user name, or several of which one must match. */
  readonly user?: string | readonly string[]
  /** The path without the query. The only way to select requests that are not for a resource, such as `/apis` or `/healthz`. */
  readonly path?: string
}

/** The effect of a fault on a request. */
export type FaultEffect =
  /** Delays the request before it is processed. */
  | { readonly type: 'delay'; readonly delayMs: number }
  /** Rejects the request with this status before it is processed. */
  | { readonly type: 'error'; readonly status: number; readonly retryAfter?: number; readonly message?: string }
  /** Processes the request, with all its effects, and closes the connection instead of sending the response. */
  | { readonly type: 'drop' }
  /**
   * Closes the connection after this many bytes of the response body (default 0), possibly in the middle of a line. Also applies to
   * open watches, after this many more bytes.
   */
  | { readonly type: 'cut'; readonly afterBytes?: number }
  /** Like `cut`, but the connection stays open: nothing more is sent on it, even after the fault is removed. */
  | { readonly type: 'silence'; readonly afterBytes?: number }
  /** Closes the connection before the request is processed. */
  | { readonly type: 'refuse' }
  /** Serves reads from the state at this version. Default: the version at the time when the fault was added. */
  | { readonly type: 'stale'; readonly version?: string }

/** A fault to inject: the requests it applies to, how many of them, and its effect. */
export interface FaultOptions {
  /** The requests that the fault applies to. Default: all. */
  readonly on?: FaultMatch
  /** The effect of the fault. */
  readonly effect: FaultEffect
  /** How many requests are affected. Default: all. */
  readonly times?: number
  /** How many matching requests pass before the first affected one. Default: 0. */
  readonly after?: number
}

/** A fault that was added to the plan. */
export interface Fault {
  /** The number of requests affected so far. */
  readonly hits: number
  /** Removes the fault from the plan. */
  remove(): void
}

/** The properties of a request or an open watch that faults are matched with. */
export type FaultSubject = Required<Omit<FaultMatch, 'verb' | 'user'>> & {
  readonly verb: Verb | ''
  readonly user: string
}

interface PlannedFault extends FaultOptions {
  readonly version: number
  seen: number
  hits: number
}

/**
 * The faults that a server injects, for tests of an operator's behaviour on failures. Empty by default.
 *
 * @example
 * ```ts
 * const fault = server.api.faults.add({ on: { verb: 'patch' }, effect: { type: 'error', status: 503 }, times: 2 })
 * ```
 */
export class FaultPlan {
  #planned: PlannedFault[] = []

  /** All open watches, so that a new fault can interrupt them. */
  readonly #watches = new Set<{ readonly subject: FaultSubject; readonly body: InterruptibleBody }>()

  readonly #clock: Clock
  readonly #currentVersion: () => number

  constructor(clock: Clock, currentVersion: () => number) {
    this.#clock = clock
    this.#currentVersion = currentVersion
  }

  /** Adds a fault for future requests. `cut` and `silence` also apply to open watches. */
  add(options: FaultOptions): Fault {
    const planned: PlannedFault = { ...options, version: this.#currentVersion(), seen: 0, hits: 0 }
    const { effect } = planned
    this.#planned.push(planned)
    if (isEnding(effect)) {
      for (const { subject, body } of this.#watches) if (hits(planned, subject)) body.interrupt(effect)
    }
    return {
      get hits() {
        return planned.hits
      },
      remove: () => {
        this.#planned = this.#planned.filter((other) => other !== planned)
      },
    }
  }

  /** Removes all faults from the plan. */
  clear(): void {
    this.#planned = []
  }

  /**
   * Returns the faults that apply to this request, and counts the request as affected.
   *
   * @internal
   */
  strike(subject: FaultSubject): ActiveFaults | undefined {
    if (this.#planned.length === 0) return undefined
    const struck = this.#planned.filter((planned) => hits(planned, subject))
    return struck.length === 0 ? undefined : new ActiveFaults(struck, this.#clock)
  }

  /**
   * Applies the faults to the response. Throws a ConnectionFault if the response is dropped.
   *
   * @internal
   */
  release(answer: ApiResponse, subject: FaultSubject, { strike, signal }: Release): ApiResponse {
    const { body } = answer
    if (strike?.isDropped) {
      // End the unread stream, which would otherwise wait for a reader.
      if (typeof body !== 'string') void body[Symbol.asyncIterator]().return?.()
      throw new ConnectionFault('ECONNRESET')
    }
    const endings = strike?.endings ?? []
    const isWatch = subject.verb === 'watch' && typeof body !== 'string'
    if (!isWatch && endings.length === 0) return answer
    const reachable = new InterruptibleBody(body, signal)
    if (isWatch) this.#follow({ subject, body: reachable })
    for (const ending of endings) reachable.interrupt(ending)
    return { ...answer, body: reachable }
  }

  #follow(watch: { readonly subject: FaultSubject; readonly body: InterruptibleBody }): void {
    this.#watches.add(watch)
    watch.body.over.addEventListener('abort', () => this.#watches.delete(watch))
  }
}

interface Release {
  readonly strike: ActiveFaults | undefined
  readonly signal: AbortSignal
}

function hits(planned: PlannedFault, subject: FaultSubject): boolean {
  const matches = Object.entries(planned.on ?? {}).every(([key, value]) => {
    const actual = subject[key as keyof FaultMatch]
    return value === undefined || (Array.isArray(value) ? value.includes(actual) : value === actual)
  })
  if (!matches) return false
  planned.seen += 1
  if (planned.seen <= (planned.after ?? 0) || planned.hits >= (planned.times ?? Number.POSITIVE_INFINITY)) return false
  planned.hits += 1
  return true
}

function isEnding(effect: FaultEffect): effect is FaultEffect & BodyInterruption {
  return effect.type === 'cut' || effect.type === 'silence'
}

/** The faults that apply to one request. */
export class ActiveFaults {
  readonly #planned: readonly PlannedFault[]
  readonly #clock: Clock

  constructor(planned: readonly PlannedFault[], clock: Clock) {
    this.#planned = planned
    this.#clock = clock
  }

  /** The version to serve reads from. */
  get readAt(): number | undefined {
    for (const { effect, version } of this.#planned) {
      if (effect.type === 'stale') return effect.version === undefined ? version : Number(effect.version)
    }
    return undefined
  }

  get isDropped(): boolean {
    return this.#planned.some(({ effect }) => effect.type === 'drop')
  }

  get endings(): readonly BodyInterruption[] {
    return this.#planned.map(({ effect }) => effect).filter(isEnding)
  }

  /** Delays the request, or throws to reject it. */
  async before(signal: AbortSignal): Promise<void> {
    for (const { effect } of this.#planned) {
      if (effect.type === 'delay') await this.#clock.sleep(effect.delayMs, signal)
      if (effect.type === 'refuse') throw new ConnectionFault('ECONNREFUSED')
      if (effect.type === 'error') throw faultStatus(effect)
    }
  }
}

const reasons: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

function faultStatus({ status, retryAfter, message }: FaultEffect & { type: 'error' }): StatusError {
  const details = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }
  return new StatusError(status, reasons[status] ?? '', message ?? `the fault plan says ${status}`, details)
}
