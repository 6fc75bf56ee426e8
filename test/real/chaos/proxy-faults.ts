/** The faults of the catalogue that a proxy can cause. Pure, except for counters. */
import type { Random } from '../../simulation/random.ts'
import type { Fate, Fault, Passing } from './chaos-proxy.ts'
import { cutAfter, cutInCharacter, interject, silentAfter, type Tap } from './watch-pipe.ts'

const reasons: Readonly<Record<number, string>> = {
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

function status(code: number, more: object = {}): string {
  const message = `made up by the proxy (${code})`
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[code],
    code,
  }
  return JSON.stringify({ ...body, ...more })
}

export function answer(code: number, headers: Readonly<Record<string, string>> = {}): Fate {
  // A load balancer in front of the API server answers with an HTML page.
  const body = code === 502 ? '<html><body>Bad Gateway</body></html>' : status(code)
  return { type: 'answer', status: code, body, headers: code === 502 ? { 'content-type': 'text/html' } : headers }
}

/** The answer of a server that has not reached the requested resourceVersion. */
export function tooLargeVersion(): Fate {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }]
  const message = 'Timeout: Too large resource version: 99999999, current: 1'
  return {
    type: 'answer',
    status: 504,
    headers: { 'retry-after': '1' },
    body: status(504, { message, details: { causes, retryAfterSeconds: 1 } }),
  }
}

/** The ERROR event of a watch whose resourceVersion has expired. */
export function expiredEvent(): string {
  return JSON.stringify({ type: 'ERROR', object: JSON.parse(status(410)) })
}

/** Gives each matching request this fate. */
export function on(isMeant: (request: Passing) => boolean, fate: () => Fate): Fault {
  return (request) => (isMeant(request) ? fate() : undefined)
}

/** Gives every k-th matching request this fate. The first one is the k-th request. */
export function everyNth(k: number, isMeant: (request: Passing) => boolean, fate: () => Fate): Fault {
  let count = 0
  return (request) => {
    if (!isMeant(request)) return undefined
    count += 1
    return count % k === 0 ? fate() : undefined
  }
}

export const isAny = (): boolean => true
export const isWatch = ({ isWatch }: Passing): boolean => isWatch
export const isWrite = ({ isWrite }: Passing): boolean => isWrite

/** Random faults of all types, for the soak. `share` is the fraction of requests with a fault. */
export function weather(random: Random, share: number): Fault {
  const storms = new Storms(random.fork('storms'))
  return (request) => {
    if (request.isWatch) return random.chance(Math.min(0.8, share * 5)) ? watchFate(random) : undefined
    const storm = storms.now(request.atMs)
    if (storm !== undefined && random.chance(0.5)) return answer(storm)
    return random.chance(share) ? requestFate(random, request) : undefined
  }
}

function requestFate(random: Random, { isWrite }: Passing): Fate {
  const fates: Array<() => Fate> = [
    () => answer(429, { 'retry-after': '1' }),
    () => answer(429),
    () => answer(500),
    () => answer(502),
    () => answer(503),
    () => ({ type: 'reset' }),
    () => ({ type: 'lose' }),
    () => ({ type: 'lose' }),
    () => ({ type: 'delay', ms: random.between(50, 800) }),
    () => ({ type: 'drip', bytes: 100, everyMs: 10 }),
    () => ({ type: 'hang' }),
  ]
  if (isWrite) fates.push(() => answer(409))
  return random.pick(fates)()
}

function watchFate(random: Random): Fate {
  const bytes = random.below(30_000)
  const taps: Array<() => Tap> = [
    () => cutAfter(bytes),
    () => cutAfter(bytes, 'end'),
    () => cutInCharacter(),
    () => silentAfter(bytes),
    () => interject(expiredEvent()),
  ]
  const fates: Array<() => Fate> = [
    () => answer(410),
    () => tooLargeVersion(),
    () => answer(503),
    () => ({ type: 'reset' }),
    () => ({ type: 'hang' }),
    ...taps.map((tap) => (): Fate => ({ type: 'tap', tap: tap() })),
    ...taps.map((tap) => (): Fate => ({ type: 'tap', tap: tap() })),
  ]
  return random.pick(fates)()
}

/** Periods in which half of all requests fail. */
class Storms {
  readonly #random: Random
  #status: number | undefined
  #untilMs = 0

  constructor(random: Random) {
    this.#random = random
  }

  now(atMs: number): number | undefined {
    if (atMs >= this.#untilMs) {
      const isCalm = this.#status !== undefined || this.#untilMs === 0
      this.#status = isCalm ? undefined : this.#random.pick([429, 500, 503])
      this.#untilMs = atMs + (isCalm ? this.#random.between(5_000, 15_000) : this.#random.between(1_000, 3_000))
    }
    return this.#status
  }
}
