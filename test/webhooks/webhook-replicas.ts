/**
 * Replicas of an operator that share webhook certificates in a Secret, on an embedded server with skipped time. The
 * served certificates are read from their real sockets.
 */
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { ApiServer } from 'kopf/server'
import {
  type WebhookClientConfig,
  type WebhookContext,
  type WebhookFn,
  WebhookServiceServer,
  type WebhookServiceServerOptions,
} from 'kopf/webhooks'
import { afterEach, expect } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { discover } from '../../src/client/discovery/discovery.ts'
import { createSession } from '../../src/client/session.ts'
import type { Resource } from '../../src/kube/resources/resources.ts'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { type Clock, nextTurn, systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'
import type { Transport } from '../../src/util/transport.ts'
import type { Tree } from '../support/answers.ts'
import { ask } from '../support/in-process.ts'
import { Recording } from '../support/recording.ts'

export const minuteMs: number = 60_000
export const hourMs: number = 60 * minuteMs
export const secretPath = '/api/v1/namespaces/shop/secrets/web-certificates'

/** A clock with an offset that counts its sleepers. */
class ReplicaClock implements Clock {
  sleeping = 0
  readonly #base: Clock
  readonly #offMs: number

  constructor(base: Clock, offMs: number) {
    this.#base = base
    this.#offMs = offMs
  }

  now(): number {
    return this.#base.now() + this.#offMs
  }

  async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    this.sleeping += 1
    await this.#base.sleep(delayMs, signal).finally(() => (this.sleeping -= 1))
  }
}

/** Denies every request with a message that identifies the response. */
const deny: WebhookFn = async (review) => {
  const { uid } = (review as { request: { uid: string } }).request
  const response = { uid, allowed: false, status: { code: 403, message: 'reviewed' } }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
}

export interface ReplicaOptions extends Partial<WebhookServiceServerOptions> {
  /** Offset of the clock of the replica. */
  readonly offMs?: number
}

export class Replica {
  readonly configs: WebhookClientConfig[] = []
  readonly logs: string[] = []
  /** Number of log lines of the replica about the Secret. */
  news = 0
  readonly requests: Recording
  /** The error that ended the replica; undefined while it runs and after a stop. */
  failure: Error | undefined
  readonly #clock: ReplicaClock
  readonly #controller = new AbortController()
  readonly #serving: Promise<void>
  #hasEnded = false

  constructor(world: { readonly clock: Clock }, transport: Transport, options: ReplicaOptions) {
    const { offMs = 0, ...others } = options
    this.#clock = new ReplicaClock(world.clock, offMs)
    this.requests = new Recording(transport)
    const server = new WebhookServiceServer({
      service: 'web',
      addr: '127.0.0.1',
      port: 0,
      caLifetime: '12h',
      certLifetime: '12h',
      ...others,
    })
    this.#serving = this.#serve(server).finally(() => (this.#hasEnded = true))
  }

  get port(): number {
    const line = this.logs.find((one) => one.includes('Listening for webhooks'))
    return Number(/port (\d+)/.exec(line ?? '')?.[1])
  }

  get bundle(): string {
    return Buffer.from(this.configs.at(-1)?.caBundle ?? '', 'base64').toString('utf8')
  }

  /** True if the replica waits for the clock only, or has ended. */
  get isIdle(): boolean {
    return this.#hasEnded || (this.#clock.sleeping > 0 && this.requests.unanswered === 0)
  }

  /** The certificate that a client receives. */
  shown(): Promise<X509Certificate> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: this.port, rejectUnauthorized: false })
      socket.once('error', reject)
      socket.once('secureConnect', () => {
        resolve(socket.getPeerX509Certificate()!)
        socket.destroy()
      })
    })
  }

  async stop(): Promise<void> {
    this.#controller.abort()
    await this.#serving
  }

  async #serve(server: WebhookServiceServer): Promise<void> {
    try {
      for await (const config of server.serve(deny, this.#context())) {
        this.configs.push(config)
      }
    } catch (error) {
      this.failure = error as Error
    }
  }

  #note(line: string): void {
    this.logs.push(line)
    if (line.includes('Secret')) this.news += 1
  }

  #context(): WebhookContext {
    const networking = { requestTimeout: 300, connectTimeout: null, errorBackoffs: [], enforceRetryAfter: false }
    const session = createSession({ transport: this.requests, networking, clock: systemClock, userAgent: 'replica' })
    const known = discover(session)
    const resolve = async (like: unknown): Promise<Resource> =>
      (await known).resources.find(({ plural, group }) => plural === like && group === '')!
    const sink = createLogSink({ format: 'plain', debug: true, write: (line) => this.#note(line) })
    return {
      signal: this.#controller.signal,
      logger: createLogger(sink, 'kopf.webhooks'),
      clock: this.#clock,
      client: createClient({ session, resolve }),
      namespace: 'shop',
      readSigns: () => Promise.reject(new Error('nobody should ask')),
    }
  }
}

export class World {
  readonly clock: SkippingClock = new SkippingClock()
  readonly server: ApiServer
  readonly replicas: Replica[] = []
  /** Start of the current period in which handshakes are checked; renewed by each change. */
  #checkMs = 0
  #happened = 0
  /** All CA bundles that API servers got, with their times. */
  readonly told: Array<{ readonly sinceMs: number; readonly bundle: string }> = []

  constructor() {
    this.server = new ApiServer({ clock: this.clock, open: true })
  }

  async start(options: ReplicaOptions = {}): Promise<Replica> {
    const replica = this.begin(options)
    await this.settle()
    return replica
  }

  /** Starts a replica without waiting for it. */
  begin(options: ReplicaOptions = {}): Replica {
    const replica = new Replica(this, this.server, options)
    this.replicas.push(replica)
    return replica
  }

  async stop(replica: Replica): Promise<void> {
    this.replicas.splice(this.replicas.indexOf(replica), 1)
    await replica.stop()
  }

  /** Waits until nothing happens without time passing. Keys are generated in other threads, which the clock cannot see. */
  async settle(): Promise<void> {
    for (let calm = 0; calm < 4; calm += 1) {
      await nextTurn()
      if (!this.replicas.every(({ isIdle }) => isIdle)) calm = 0
    }
  }

  /** Lets the time pass and checks the served certificates at every step. */
  async pass(ms: number): Promise<void> {
    const endMs = this.clock.now() + ms
    do {
      await this.settle()
      await this.check()
    } while (this.clock.skip(endMs))
    this.clock.set(endMs)
    await this.settle()
    await this.check()
  }

  /** Advances the clock at once, as after a sleep of the machine, without checks in between. */
  jump(ms: number): void {
    this.clock.set(this.clock.now() + ms)
  }

  async until(isSo: () => boolean | Promise<boolean>, limitMs: number = 48 * hourMs): Promise<void> {
    const endMs = this.clock.now() + limitMs
    for (await this.settle(); !(await isSo()); await this.settle()) {
      await this.check()
      if (!this.clock.skip(endMs)) throw new Error(`It never came to be:\n${this.replicas[0]?.logs.join('')}`)
    }
  }

  /** The certificate of every replica is trusted with every CA bundle that API servers got within the last 45 minutes. */
  async check(): Promise<void> {
    const nowMs = this.clock.now()
    for (const { bundle } of this.replicas) {
      if (bundle !== '' && bundle !== this.told.at(-1)?.bundle) this.told.push({ sinceMs: nowMs, bundle })
    }
    if (!this.#isTimeToCheck()) return
    const recent = this.told.filter((_, index) => (this.told[index + 1]?.sinceMs ?? Infinity) > nowMs - 45 * minuteMs)
    for (const replica of this.replicas) {
      if (replica.configs.length === 0 || replica.failure !== undefined) continue
      const certificate = await replica.shown()
      for (const { bundle } of recent) expect(isTrusted(certificate, bundle, nowMs)).toBe(true)
    }
  }

  /** Handshakes are checked for ten minutes after each change and at least once an hour, since they are slow. */
  #isTimeToCheck(): boolean {
    const nowMs = this.clock.now()
    const happened = this.replicas.reduce((sum, { news }) => sum + 1 + news, 0)
    if (happened !== this.#happened || nowMs >= this.#checkMs + hourMs) this.#checkMs = nowMs
    this.#happened = happened
    return nowMs <= this.#checkMs + 10 * minuteMs
  }

  /** The current Secret; undefined if it does not exist. */
  async secret(): Promise<Tree | undefined> {
    const { status, body } = await ask(this.server, 'GET', secretPath)
    return status === 200 ? body : undefined
  }

  async text(key: string): Promise<string> {
    const data = (await this.secret())?.['data'] as Record<string, string> | undefined
    return Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')
  }

  async edit(data: Record<string, string | null>): Promise<void> {
    const { status } = await ask(this.server, 'PATCH', secretPath, { body: { data } })
    expect(status).toBe(200)
  }

  async prepare(): Promise<void> {
    await ask(this.server, 'POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    })
  }
}

/** Checks the validity by the skipped clock instead of the system time. */
function isTrusted(certificate: X509Certificate, bundle: string, nowMs: number): boolean {
  const isCurrent = ({ validFrom, validTo }: X509Certificate) =>
    Date.parse(validFrom) <= nowMs && nowMs < Date.parse(validTo)
  return (
    isCurrent(certificate) &&
    certificate.checkHost('web.shop.svc') !== undefined &&
    certificatesIn(bundle).some(
      (authority) =>
        isCurrent(authority) && certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
    )
  )
}

export function certificatesIn(bundle: string): X509Certificate[] {
  return (bundle.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? []).map((pem) => new X509Certificate(pem))
}

const worlds: World[] = []

export async function createWorld(): Promise<World> {
  const world = new World()
  worlds.push(world)
  await world.prepare()
  return world
}

afterEach(async () => {
  for (const world of worlds.splice(0)) {
    for (const replica of [...world.replicas]) await world.stop(replica)
    // No timer is left behind.
    expect(world.clock.sleeping).toBe(0)
  }
})
