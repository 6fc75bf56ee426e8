/**
 * What goes wrong on purpose: a plan of faults, set from code, that requests run into. For tests of whoever uses the API.
 * Without a plan this costs a look at an empty list.
 */
import type { Clock } from '../util/clock.ts'
import type { Answer } from './call.ts'
import { ConnectionFault, type Ending, ReachableBody } from './reachable-body.ts'
import type { Verb } from './request.ts'
import { StatusError } from './status.ts'

/** Which requests a fault concerns; what is left out does not matter. */
export interface FaultMatch {
  readonly verb?: Verb
  /** `gadgets.example.com` or `pods`. */
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  /** One, or any of several. */
  readonly user?: string | readonly string[]
  /** Without the query; the one way to name what is not a resource, such as `/apis` or `/healthz`. */
  readonly path?: string
}

/** What becomes of a request that runs into a fault. */
export type FaultEffect =
  /** The request waits before it is looked at. */
  | { readonly type: 'delay'; readonly delayMs: number }
  /** The request is refused without being looked at. */
  | { readonly type: 'error'; readonly status: number; readonly retryAfter?: number; readonly message?: string }
  /** The request is served, and its effects stay; then the connection breaks instead of the answer. */
  | { readonly type: 'drop' }
  /**
   * The answer breaks off after so many bytes of its body, in the middle of a line if it falls so. Strikes watches that
   * are open, too: after so many more bytes.
   */
  | { readonly type: 'cut'; readonly afterBytes?: number }
  /** The same, but the connection stays open: nothing more comes on it, not even when the fault is removed. */
  | { readonly type: 'silence'; readonly afterBytes?: number }
  /** The connection breaks before the request is looked at. */
  | { readonly type: 'refuse' }
  /** Reads are served from what there was at this version; from the moment the fault was added if none is given. */
  | { readonly type: 'stale'; readonly version?: string }

/** Which requests run into the fault, how many of them, and what becomes of them. */
export interface FaultOptions {
  readonly on?: FaultMatch
  readonly effect: FaultEffect
  /** How many requests run into it; all, unless told. */
  readonly times?: number
  /** How many matching requests go unharmed before the first that does not. */
  readonly after?: number
}

/** A fault that was added to the plan. */
export interface Fault {
  /** How many requests have run into it. */
  readonly hits: number
  /** No request runs into it any more. */
  remove(): void
}

/** What the plan is asked about: a request, or a watch that is open. */
export type FaultSubject = Required<Omit<FaultMatch, 'verb' | 'user'>> & {
  readonly verb: Verb | ''
  readonly user: string
}

interface Planned extends FaultOptions {
  readonly version: number
  seen: number
  hits: number
}

/** The faults that a server is to have: for tests of what an operator does then. */
export class FaultPlan {
  #planned: Planned[] = []

  /** Every watch that is open, so that a fault can still strike it. */
  readonly #watches = new Set<{ readonly subject: FaultSubject; readonly body: ReachableBody }>()

  readonly #clock: Clock
  readonly #currentVersion: () => number

  constructor(clock: Clock, currentVersion: () => number) {
    this.#clock = clock
    this.#currentVersion = currentVersion
  }

  /** Strikes the requests to come; to cut or to silence, also the watches that are open. */
  add(options: FaultOptions): Fault {
    const planned: Planned = { ...options, version: this.#currentVersion(), seen: 0, hits: 0 }
    const { effect } = planned
    this.#planned.push(planned)
    if (isEnding(effect)) {
      for (const { subject, body } of this.#watches) if (hits(planned, subject)) body.strike(effect)
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

  /** Takes all faults out of the plan. */
  clear(): void {
    this.#planned = []
  }

  /** The faults this request runs into, each counted as hit. */
  strike(subject: FaultSubject): Strike | undefined {
    if (this.#planned.length === 0) return undefined
    const struck = this.#planned.filter((planned) => hits(planned, subject))
    return struck.length === 0 ? undefined : new Strike(struck, this.#clock)
  }

  /** The answer as the client gets it. */
  release(answer: Answer, subject: FaultSubject, { strike, signal }: Release): Answer {
    const { body } = answer
    if (strike?.isDropped) {
      // A watch that nobody will read is not to wait for a reader.
      if (typeof body !== 'string') void body[Symbol.asyncIterator]().return?.()
      throw new ConnectionFault('ECONNRESET')
    }
    const endings = strike?.endings ?? []
    const isWatch = subject.verb === 'watch' && typeof body !== 'string'
    if (!isWatch && endings.length === 0) return answer
    const reachable = new ReachableBody(body, signal)
    if (isWatch) this.#follow({ subject, body: reachable })
    for (const ending of endings) reachable.strike(ending)
    return { ...answer, body: reachable }
  }

  #follow(watch: { readonly subject: FaultSubject; readonly body: ReachableBody }): void {
    this.#watches.add(watch)
    watch.body.over.addEventListener('abort', () => this.#watches.delete(watch))
  }
}

interface Release {
  readonly strike: Strike | undefined
  readonly signal: AbortSignal
}

function hits(planned: Planned, subject: FaultSubject): boolean {
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

function isEnding(effect: FaultEffect): effect is FaultEffect & Ending {
  return effect.type === 'cut' || effect.type === 'silence'
}

/** What one request has run into. */
export class Strike {
  readonly #planned: readonly Planned[]
  readonly #clock: Clock

  constructor(planned: readonly Planned[], clock: Clock) {
    this.#planned = planned
    this.#clock = clock
  }

  /** The version that reads are to be served from. */
  get readAt(): number | undefined {
    for (const { effect, version } of this.#planned) {
      if (effect.type === 'stale') return effect.version === undefined ? version : Number(effect.version)
    }
    return undefined
  }

  get isDropped(): boolean {
    return this.#planned.some(({ effect }) => effect.type === 'drop')
  }

  get endings(): readonly Ending[] {
    return this.#planned.map(({ effect }) => effect).filter(isEnding)
  }

  /** Throws where the request gets no further than this. */
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
