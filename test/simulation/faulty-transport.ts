/**
 * The network between one process of the operator and the API server: slow, with random faults, and cut for good when
 * the process is killed. Checks that every write reaches the object that it was meant for.
 */
import type { ApiServer } from 'kopf/server'
import type { SkippingClock } from '../../src/testing/skipping-clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../src/util/transport.ts'
import { WatchBody } from './faulty-watch-body.ts'
import { forever } from './process-clock.ts'
import type { Random } from './random.ts'
import type { Weather } from './random-faults.ts'
import type { Journal } from './simulation-journal.ts'
import {
  kindOf,
  objectsIn,
  once,
  type Request,
  type ShownObject,
  status,
  uidOf,
  type WrittenObject,
} from './wire-messages.ts'

export interface WireOptions {
  readonly server: ApiServer
  readonly clock: SkippingClock
  readonly random: Random
  readonly weather: Weather
  readonly journal: Journal
  readonly process: number
  /** Called with the number of each API call, before it reaches the server and after it was served; may kill the process. */
  readonly onCall?: (call: number, moment: 'before' | 'after') => void
  /** Called with the result of every committed write of the operator. */
  readonly onWrite: (object: WrittenObject, subresource: string) => void
  /** The version for reads that accept a stale state; undefined for the latest. */
  readonly staleVersion: () => string | undefined
  readonly isAlive: (uid: string) => boolean
  /** Called with every object that the operator receives. */
  readonly onShown?: (object: ShownObject, isRead: boolean) => void
  /** Range of the latency in one direction. */
  readonly latencyMs: readonly [low: number, high: number]
}

class NetworkError extends Error {
  readonly code: string

  constructor(code: string) {
    super(`${code} (simulated)`)
    this.code = code
  }
}

interface Answer {
  readonly response: TransportResponse
  /** The object after a write. */
  readonly object?: WrittenObject | undefined
  readonly shown?: readonly ShownObject[]
}

export class Wire implements Transport {
  readonly #options: WireOptions
  readonly #end = new AbortController()
  readonly #watches = new Set<WatchBody>()
  calls = 0

  constructor(options: WireOptions) {
    this.#options = options
    const { weather, random } = options
    weather.onChange((faults) => {
      if (faults.has('refused')) for (const body of this.#watches) body.strike('cut')
      if (faults.has('cut') && random.chance(0.5)) for (const body of this.#watches) body.strike('cut')
      if (faults.has('silent')) for (const body of this.#watches) body.strike('silence')
    })
  }

  get end(): AbortSignal {
    return this.#end.signal
  }

  /** Cuts all watches; the operator misses changes until it reconnects. */
  cutWatches(): void {
    for (const body of this.#watches) body.strike('cut')
  }

  /** Cuts the network for good; requests that have reached the server are completed. */
  kill(): void {
    this.#end.abort()
    for (const body of this.#watches) body.strike('silence')
  }

  async send(given: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    signal?.throwIfAborted()
    const request: Request = { ...given, kind: kindOf(given) }
    const { journal, onCall } = this.#options
    if (this.end.aborted) return forever()
    this.calls += 1
    const call = this.calls
    journal.requests += 1
    onCall?.(call, 'before')
    if (this.end.aborted) return forever()
    await this.#travel(signal)
    const answer = await this.#serve(request, signal)
    this.#options.clock.stir()
    onCall?.(call, 'after')
    if (this.end.aborted) return forever()
    await this.#travel(signal)
    if (request.kind === 'write') this.#delivered(answer.object)
    for (const object of answer.shown ?? []) this.#options.onShown?.(object, request.kind === 'read')
    return answer.response
  }

  async #serve(request: Request, signal: AbortSignal | undefined): Promise<Answer> {
    const { weather, random } = this.#options
    const isWrite = request.kind === 'write'
    if (weather.strikes('refused')) throw this.#fail(request, 'ECONNREFUSED')
    if (weather.strikes('headless')) return this.#hang(request, signal)
    const refusal = this.#refuse(request)
    if (refusal !== undefined) {
      if (isWrite && refusal.status !== 409) this.#noteBroken(request)
      if (isWrite && (refusal.status === 409 || refusal.status === 422)) this.#noteRefused(request)
      return { response: refusal }
    }
    if (request.kind === 'watch') return { response: await this.#openWatch(request, signal) }
    const served = await this.#ask(request)
    if (weather.strikes('lost')) throw this.#fail(request, 'ECONNRESET')
    if (weather.strikes('late')) await this.#wait(random.between(0, 20_000), signal)
    return served
  }

  /** The errors with which the server rejects a request before processing it. */
  #refuse({ kind, path }: Request): TransportResponse | undefined {
    const { weather, random, server } = this.#options
    const isStreaming = path.includes('sendInitialEvents=true')
    if (weather.strikes('compacted')) server.compact()
    if (isStreaming && weather.has('noStreaming')) return status(422, 'Invalid', 'sendInitialEvents is forbidden')
    const isResumed = kind === 'watch' && !isStreaming && path.includes('resourceVersion=')
    const isContinued = kind === 'list' && path.includes('continue=')
    if ((isResumed || isContinued) && weather.strikes('gone')) return status(410, 'Expired', 'too old resource version')
    if ((kind === 'list' || kind === 'watch') && /resourceVersion=[1-9]/.test(path) && weather.strikes('tooLarge')) {
      return status(504, 'Timeout', 'Too large resource version: 99, current: 98', {
        details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
      })
    }
    if (kind === 'write' && weather.strikes('conflict')) return status(409, 'Conflict', 'the object has been modified')
    if (kind === 'write' && weather.strikes('invalid')) return status(422, 'Invalid', 'the webhook says no')
    if (!weather.strikes('error')) return undefined
    const code = random.pick([429, 429, 500, 502, 503, 504])
    return status(code, 'Simulated', `the weather says ${code}`, {
      ...(code === 429 && random.chance(0.5) ? { retryAfter: 1 + random.below(5) } : {}),
    })
  }

  async #ask(request: Request): Promise<Answer> {
    const { server, journal, onShown } = this.#options
    const version = this.#options.staleVersion()
    if (version !== undefined && request.kind === 'list' && request.path.includes('resourceVersion=')) {
      server.faults.add({ on: { verb: 'list' }, effect: { type: 'stale', version }, times: 1 })
    }
    const { version: before } = server
    const response = await server.send(request)
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const object = request.kind === 'write' ? this.#checkWrite(request, response.status, body) : undefined
    if (request.kind === 'write') {
      journal.patches += 1
      if (response.status === 200 && server.version === before) journal.idleWrites += 1
      journal.lastWriteMs = this.#options.clock.now()
      journal.tell(`   write ${request.path.split('/').slice(-2).join('/')} ${response.status} ${String(request.body)}`)
    }
    const isShown = onShown !== undefined && response.status === 200
    return { response: { ...response, body: once(body) }, object, shown: isShown ? objectsIn(request, body) : [] }
  }

  /** P5, P7: a write to a handled object has a uid guard and reaches no other object. */
  #checkWrite({ path, body }: Request, code: number, answer: Buffer): WrittenObject | undefined {
    const { journal, onWrite } = this.#options
    if (!path.includes('/widgets/')) return undefined
    const meant = uidOf(String(body))
    if (meant === undefined) journal.violate('P5', `a write says nothing of the uid it is for: ${path} ${String(body)}`)
    // Writes to a deleted object may be repeated until the operator knows of the deletion.
    if (code !== 200 && meant !== undefined && !this.#options.isAlive(meant)) journal.brokeWrite(meant)
    if (code !== 200) return undefined
    const object = JSON.parse(answer.toString('utf8')) as WrittenObject
    if (meant !== object.metadata.uid) journal.violate('P7', `a write for uid ${meant} has reached another: ${path}`)
    onWrite(object, path.endsWith('/status') ? 'status' : '')
    return object
  }

  #delivered(object: WrittenObject | undefined): void {
    if (object === undefined) return
    const { journal, process } = this.#options
    journal.sawVersion(process, object.metadata.uid, Number(object.metadata.resourceVersion))
  }

  async #openWatch(request: Request, signal: AbortSignal | undefined): Promise<TransportResponse> {
    const { server, clock, random, weather, journal, process, latencyMs } = this.#options
    const response = await server.send(request, signal)
    if (response.status !== 200) return response
    const body = new WatchBody(response.body, {
      clock,
      random,
      weather,
      signal,
      latencyMs,
      over: () => this.#watches.delete(body),
      shown: (type, object) => {
        const { uid, resourceVersion } = object.metadata
        if (type === 'DELETED') journal.sawGone(process, uid, Number(resourceVersion))
        else if (type !== 'BOOKMARK') this.#options.onShown?.(object as ShownObject, false)
      },
    })
    this.#watches.add(body)
    return { ...response, body }
  }

  #fail(request: Request, code: string): Error {
    if (request.kind === 'write') this.#noteBroken(request)
    return new NetworkError(code)
  }

  #noteBroken({ body }: Request): void {
    const uid = uidOf(String(body))
    if (uid !== undefined) this.#options.journal.brokeWrite(uid)
  }

  #noteRefused({ body }: Request): void {
    const uid = uidOf(String(body))
    if (uid !== undefined) this.#options.journal.refusedWrite(uid)
  }

  /** Sends no response until the client gives up or detects the dead connection. */
  #hang(request: Request, signal: AbortSignal | undefined): Promise<never> {
    if (request.kind === 'write') this.#noteBroken(request)
    return new Promise((_, reject) => {
      signal?.addEventListener('abort', () => (this.end.aborted ? undefined : reject(signal.reason)), { once: true })
    })
  }

  async #travel(signal: AbortSignal | undefined): Promise<void> {
    const { random, latencyMs } = this.#options
    await this.#wait(random.between(...latencyMs), signal)
  }

  async #wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#options.clock.sleep(delayMs, signal)
    } finally {
      if (this.end.aborted) await forever()
    }
  }
}
