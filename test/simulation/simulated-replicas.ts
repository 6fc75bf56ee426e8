/**
 * Electors that share one Lease: each has a clock with its own rate and its own system time, and a connection to
 * the server with network faults. Leadership is evaluated by the own clock of each elector.
 */
import { ApiServer } from 'kopf/server'
import { createSession } from '../../src/client/session.ts'
import { Elector } from '../../src/election/elector.ts'
import { trackTraffic } from '../../src/testing/cluster/tracked-traffic.ts'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import type { Clock } from '../../src/util/async/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../src/util/transport.ts'
import { refusal } from '../support/recording.ts'
import { pass } from './process-clock.ts'
import { Random } from './random.ts'

export const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 }
const key = { namespace: 'default', name: 'operator' }
const path = `/apis/coordination.k8s.io/v1/namespaces/${key.namespace}/leases/${key.name}`

/** A clock that is fast or slow, is set at times, and wakes no sleeper while its process is blocked. */
class OwnClock implements Clock {
  readonly rate: number
  offMs = 0
  blockedUntilMs = 0
  readonly #world: SkippingClock

  constructor(world: SkippingClock, rate: number) {
    this.#world = world
    this.rate = rate
  }

  now(): number {
    return this.#world.now() + this.offMs
  }

  monotonic(): number {
    return this.#world.now() * this.rate
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    await this.#world.sleep(delayMs / this.rate, signal)
    await this.unblocked()
  }

  async unblocked(): Promise<void> {
    while (this.#world.now() < this.blockedUntilMs) await this.#world.sleep(this.blockedUntilMs - this.#world.now())
  }
}

/** The connection from one replica to the server. */
class Road implements Transport {
  /** The probability of a fault per request. */
  danger = 0
  isCut = false
  readonly #world: SkippingClock
  readonly #server: Transport
  readonly #clock: OwnClock
  readonly #random: Random

  constructor(world: SkippingClock, server: Transport, clock: OwnClock, random: Random) {
    this.#world = world
    this.#server = server
    this.#clock = clock
    this.#random = random
  }

  /** A request continues on the server after it is aborted. */
  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      this.#travel(request, signal).then(resolve, reject)
    })
  }

  async #travel(request: TransportRequest, signal: AbortSignal | undefined): Promise<TransportResponse> {
    const isWatch = request.path.includes('watch=true')
    const harm = this.#random.chance(this.danger) ? this.#random.pick(harms) : 'none'
    if (this.isCut || harm === 'refuse') throw broken('ECONNREFUSED')
    if (harm === 'error') return refusal(this.#random.pick([409, 429, 500, 503]))
    if (harm === 'late') await this.#world.sleep(this.#random.between(0, 12_000))
    const response = await this.#server.send(request, isWatch ? signal : undefined)
    if (harm === 'lost') throw broken('ECONNRESET')
    if (harm === 'slow') await this.#world.sleep(this.#random.between(0, 12_000))
    await this.#clock.unblocked()
    return isWatch ? { ...response, body: this.#deliver(response.body) } : response
  }

  async *#deliver(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await this.#clock.unblocked()
      if (this.isCut || this.#random.chance(this.danger / 4)) throw broken('ECONNRESET')
      if (this.#random.chance(this.danger)) await this.#world.sleep(this.#random.between(0, 20_000))
      yield chunk
    }
  }
}

const harms = ['refuse', 'error', 'late', 'lost', 'slow'] as const

function broken(code: string): Error {
  return Object.assign(new Error(code), { code })
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

class Replica {
  readonly clock: OwnClock
  readonly road: Road
  readonly #electorate: Electorate
  readonly #name: string
  readonly #random: Random
  #elector: Elector | undefined
  #end = new AbortController()
  #runs = 0
  /** The holder that the replica has observed. */
  knows: string | undefined

  constructor(electorate: Electorate, name: string, random: Random) {
    this.#electorate = electorate
    this.#name = name
    this.#random = random
    // The fastest clock is 1.4 times as fast as the slowest: 15 s of one are still more than 10 s of the other.
    this.clock = new OwnClock(electorate.clock, random.between(0.85, 1.19))
    this.clock.offMs = random.between(-3_600_000, 3_600_000)
    this.road = new Road(
      electorate.clock,
      trackTraffic(electorate.server, electorate.clock),
      this.clock,
      random.fork('road'),
    )
  }

  get isLeading(): boolean {
    return this.clock.monotonic() < (this.#elector?.leadsUntilMs ?? -Infinity)
  }

  /** Starts an elector, and restarts it whenever it has ended. */
  start(): void {
    this.knows = undefined
    this.#end = new AbortController()
    void this.#live(this.#end.signal)
  }

  async #live(signal: AbortSignal): Promise<void> {
    for (let missedMs = 0; !signal.aborted; await this.#electorate.clock.sleep(1000)) {
      if (this.#runs > 0 && missedMs < 15_000 && !(await this.#electorate.hasLease())) {
        missedMs += 1000
        continue
      }
      missedMs = 0
      this.#runs += 1
      this.knows = undefined
      const elector = this.#create(`${this.#name}/${this.#runs}`)
      this.#elector = elector
      await elector.run(signal).catch(() => {})
    }
  }

  /** Stops the elector, releases the Lease if it leads, and starts another one. */
  restart(): void {
    const elector = this.#elector
    const end = this.#end
    end.abort()
    const released = this.isLeading ? elector?.release(new AbortController().signal) : undefined
    void Promise.resolve(released)
      .catch(() => {})
      .then(() => {
        if (this.#end === end) this.start()
      })
  }

  /** Kills the process without releasing the Lease. */
  kill(): void {
    this.#end.abort()
    this.#elector = undefined
  }

  #create(identity: string): Elector {
    const networking = { requestTimeout: 300, connectTimeout: null, errorBackoffs: [], enforceRetryAfter: false }
    const session = createSession({ transport: this.road, networking, clock: this.clock, userAgent: identity })
    const watching = {
      serverTimeout: null,
      reconnectBackoff: 0.1,
      inactivityTimeout: 70,
      chunkSize: 500,
      initialStreaming: true,
    }
    return new Elector({
      ...times,
      key,
      identity,
      session,
      clock: this.clock,
      logger: silent,
      random: () => this.#random.next(),
      watching,
      onWaiting: (holder) => {
        this.knows = holder
      },
      onLeading: () => {
        this.knows = identity
        this.#electorate.note(identity)
      },
    })
  }
}

export class Electorate {
  readonly clock: SkippingClock = new SkippingClock()
  readonly server: ApiServer = new ApiServer({ clock: this.clock })
  readonly replicas: readonly Replica[]
  /** The leaders in order. */
  readonly leaders: string[] = []
  /** All times with more than one leader. */
  readonly overlaps: string[] = []
  readonly #random: Random

  constructor(seed: string, size: number) {
    this.#random = new Random(seed)
    this.replicas = Array.from(
      { length: size },
      (_, index) => new Replica(this, `r${index}`, this.#random.fork(`r${index}`)),
    )
  }

  get leading(): number {
    return this.replicas.filter(({ isLeading }) => isLeading).length
  }

  note(identity: string): void {
    this.leaders.push(identity)
    this.#look()
  }

  async pass(seconds: number): Promise<void> {
    await pass(this.clock, this.clock.now() + seconds * 1000, () => {
      this.#look()
      return false
    })
  }

  /** Causes random faults for some time; they may last until `calm`. */
  async trouble(seconds: number): Promise<void> {
    const endMs = this.clock.now() + seconds * 1000
    while (this.clock.now() < endMs) {
      await this.#strike(this.#random.pick(this.replicas))
      await this.pass(this.#random.between(0.5, 8))
    }
  }

  calm(): void {
    for (const replica of this.replicas) {
      replica.road.danger = 0
      replica.road.isCut = false
    }
  }

  async #strike(replica: Replica): Promise<void> {
    const random = this.#random
    const blows: ReadonlyArray<() => unknown> = [
      () => (replica.road.isCut = !replica.road.isCut),
      () => (replica.road.danger = random.pick([0, 0.1, 0.5, 0.9])),
      () => (replica.clock.offMs = random.between(-3_600_000, 3_600_000)),
      () => (replica.clock.blockedUntilMs = this.clock.now() + random.between(1000, 30_000)),
      () => this.#write('PATCH', { metadata: { annotations: { note: String(random.next()) } } }),
      () => this.#write('DELETE'),
      () => replica.restart(),
      () => {
        replica.kill()
        replica.start()
      },
    ]
    await random.pick(blows)()
  }

  async hasLease(): Promise<boolean> {
    return (await this.#holder()) !== undefined
  }

  async #holder(): Promise<string | undefined> {
    const { body } = await this.server.send({ method: 'GET', path })
    let text = ''
    for await (const chunk of body) text += Buffer.from(chunk)
    return JSON.parse(text).spec?.holderIdentity
  }

  async #write(method: 'PATCH' | 'DELETE', body?: object): Promise<void> {
    // A candidate that has never seen the holder takes a deleted Lease as free, which is a known limitation.
    const holder = await this.#holder()
    if (method === 'DELETE' && !this.replicas.every(({ knows }) => knows === holder)) return
    const headers = { 'content-type': 'application/merge-patch+json' }
    const { body: answer } = await this.server.send({
      method,
      path,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    for await (const _ of answer);
  }

  #look(): void {
    const leading = this.replicas.filter(({ isLeading }) => isLeading)
    if (leading.length > 1) this.overlaps.push(`${this.clock.now()}: ${this.leaders.join(' ')}`)
  }
}
