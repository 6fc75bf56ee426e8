/**
 * Operators under test: on the embedded server in this process, where time is skipped, or on the real control plane, where it
 * passes. The same words for both. One custom kind per file (`widgets`, with or without a status endpoint).
 */
import { randomBytes } from 'node:crypto'
import { ConnectionInfo, type OpenObject, type Operator, type RunningOperator, type RunOptions } from 'kopf'
import { ApiServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { createHttpsTransport, type HttpsTransport } from '../../src/client/http/transport.ts'
import { trackTraffic } from '../../src/testing/cluster/tracked-traffic.ts'
import { SkippingClock, untilIdle } from '../../src/testing/skipping-clock.ts'
import { type Clock, systemClock } from '../../src/util/async/clock.ts'
import { createLogSink } from '../../src/util/log/log.ts'
import type { Transport } from '../../src/util/transport.ts'
import type { Tree } from './answers.ts'
import { Api } from './api.ts'
import { type CrdOptions, crd, crdsPath, unconverted } from './crds.ts'
import { ask } from './in-process.ts'
import type { RealCluster } from './real-cluster.setup.ts'
import { Recording } from './recording.ts'

/** An object as the API answers it. */
export type Body = OpenObject

export interface Reply {
  readonly status: number
  readonly body: Body
  readonly text: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

interface Target {
  readonly clock: Clock
  readonly access: Pick<RunOptions, 'transport' | 'connection'>
  transport(): Transport
  call(method: string, path: string, body?: unknown, contentType?: string): Promise<Reply>
  /** What `pass` counts from: taken before anybody looks whether something is so. */
  mark(): number
  /** Something may have happened since the mark, or some time has passed; false when nothing more can happen. */
  pass(mark: number): Promise<boolean>
  stop(): Promise<void>
}

const isReal = process.env['KOPF_TEST_CLUSTER'] === 'real'

export interface LabOptions {
  /** Whether `widgets` have a status endpoint of their own. Default: true. */
  readonly status?: boolean
  readonly crd?: Partial<CrdOptions>
  /** Operators have sockets and make certificates: what these take is no matter of the clock, and is given a moment. */
  readonly hasSockets?: boolean
  /** Another control plane than the one that all test files share; on the real one only. */
  readonly cluster?: Pick<RealCluster, 'url' | 'caPem' | 'admin'>
}

export class Lab {
  /** On the embedded server only: faults, the record of requests. */
  server!: ApiServer
  clock!: Clock
  readonly namespace: string
  readonly group: string
  /** What was logged since the last operator was started, in the plain format: `[ns/name] message`. */
  logs: string[] = []
  readonly isReal: boolean = isReal
  readonly #options: LabOptions
  readonly #running = new Set<RunningOperator>()
  readonly #installed = new Set<string>()
  #outside = 0
  #target!: Target

  constructor(options: LabOptions) {
    const id = randomBytes(4).toString('hex')
    this.namespace = `lab-${id}`
    this.group = `g${id}.example.com`
    this.#options = options
  }

  /** How operators name the kind of this file. */
  get widgets(): readonly [string, string, string] {
    return [this.group, 'v1', 'widgets']
  }

  async open(): Promise<void> {
    this.#target = isReal ? openReal(this.#options.cluster ?? inject('realCluster')) : this.#openEmbedded()
    this.clock = this.#target.clock
    await this.call('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: this.namespace },
    })
    const { status = true } = this.#options
    await this.install({ kind: 'Widget', ...(status ? { subresources: { status: {} } } : {}), ...this.#options.crd })
  }

  async close(): Promise<void> {
    for (const path of this.#installed) {
      await this.call('PATCH', path, unconverted, 'application/merge-patch+json')
      await this.#releaseAll(path.slice(crdsPath.length + 1).split('.')[0]!)
      await this.call('DELETE', path)
    }
    await this.call('DELETE', `/api/v1/namespaces/${this.namespace}`)
    await this.#target.stop()
  }

  /** Objects with finalizers of stopped operators would keep their CRD for ever, and other test files would find it. */
  async #releaseAll(plural: string): Promise<void> {
    const { body } = await this.call('GET', `/apis/${this.group}/v1/${plural}`)
    for (const { metadata } of (body as unknown as { items?: Body[] }).items ?? []) {
      if ((metadata.finalizers ?? []).length === 0) continue
      const place = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`
      const path = `/apis/${this.group}/v1/${place}${plural}/${encodeURIComponent(metadata.name!)}`
      await this.call('PATCH', path, { metadata: { finalizers: null } }, 'application/merge-patch+json')
    }
  }

  async install(options: Omit<CrdOptions, 'group'>): Promise<void> {
    const definition = crd({ group: this.group, ...options })
    const { status, body } = await this.call('POST', crdsPath, definition)
    if (status !== 201) throw new Error(`Cannot install the definition: ${JSON.stringify(body)}`)
    const { plural } = (definition['spec'] as Tree)['names'] as Tree
    this.#installed.add(`${crdsPath}/${plural}.${this.group}`)
    await this.until(async () => {
      const path = `/apis/${this.group}/v1/${plural}`
      return (
        (await this.call('GET', path)).status === 200 &&
        (await this.call('GET', `/apis/${this.group}/v1`)).status === 200
      )
    })
  }

  /** Started, and everything that is there has been seen. Stopped at the end of the test. */
  // biome-ignore lint/suspicious/noExplicitAny: operators with any memo.
  async start(operator: Operator<any>, options: RunOptions = {}): Promise<RunningOperator> {
    this.logs = []
    const logging = createLogSink({ format: 'plain', verbose: true, write: (line) => this.logs.push(line.trimEnd()) })
    const running = await operator.start({
      namespaces: [this.namespace],
      clock: this.clock,
      logging,
      ...this.#target.access,
      ...options,
    })
    this.#running.add(running)
    let isReady = false
    running.ready.then(
      () => (isReady = true),
      () => (isReady = true),
    )
    await this.until(() => isReady)
    await running.ready
    return running
  }

  async stop(running: RunningOperator): Promise<void> {
    this.#running.delete(running)
    let isStopped = false
    const stopping = running.stop().finally(() => (isStopped = true))
    stopping.catch(() => {})
    await this.until(() => isStopped)
    await stopping
  }

  async stopAll(): Promise<void> {
    for (const running of this.#running) await this.stop(running).catch(() => {})
  }

  /** The way to the cluster, for what stands in between: `start(operator, { transport: lab.record() })`. */
  record(): Recording {
    return new Recording(this.#target.transport())
  }

  call(method: string, path: string, body?: unknown, contentType?: string): Promise<Reply> {
    return this.#target.call(method, path, body, contentType)
  }

  path(name: string = '', plural: string = 'widgets'): string {
    const collection = `/apis/${this.group}/v1/namespaces/${this.namespace}/${plural}`
    return name === '' ? collection : `${collection}/${encodeURIComponent(name)}`
  }

  async create(name: string, fields: Tree = {}): Promise<Body> {
    const { metadata, ...rest } = fields
    const { status, body } = await this.call('POST', this.path(), {
      apiVersion: `${this.group}/v1`,
      kind: 'Widget',
      metadata: { name, ...(metadata as Tree) },
      ...rest,
    })
    if (status !== 201) throw new Error(`Cannot create: ${JSON.stringify(body)}`)
    return body
  }

  async get(name: string): Promise<Body> {
    return (await this.call('GET', this.path(name))).body
  }

  async patch(name: string, patch: Tree, subresource: string = ''): Promise<Body> {
    const { status, body } = await this.call(
      'PATCH',
      `${this.path(name)}${subresource}`,
      patch,
      'application/merge-patch+json',
    )
    if (status !== 200) throw new Error(`Cannot patch: ${JSON.stringify(body)}`)
    return body
  }

  async delete(name: string): Promise<void> {
    await this.call('DELETE', this.path(name))
  }

  async exists(name: string): Promise<boolean> {
    return (await this.call('GET', this.path(name))).status === 200
  }

  /** Lets things happen, and time pass, until it is so. Fails after an hour of the clock, or half a minute of ours. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = this.clock.now() + 3_600_000
    const giveUpMs = Date.now() + 25_000
    let movedMs = Date.now()
    for (let mark = this.#target.mark(); !(await isSo()); mark = this.#target.mark()) {
      // What happens in other threads is seen neither by the clock nor in the traffic: it is given a moment.
      if (await this.#target.pass(mark)) movedMs = Date.now()
      else await systemClock.sleep(1)
      if (this.clock.now() > endMs || Date.now() > giveUpMs || Date.now() > movedMs + 1000) {
        if (await isSo()) return
        throw new Error(`It never came to be; the last of the log:\n${this.logs.slice(-25).join('\n')}`)
      }
    }
  }

  /** The object, as soon as it looks so. */
  async untilObject(name: string, isSo: (body: Body) => boolean): Promise<Body> {
    let last = {} as Body
    await this.until(async () => {
      const { status, body } = await this.call('GET', this.path(name))
      last = body
      return status === 200 && isSo(body)
    })
    return last
  }

  async untilGone(name: string): Promise<void> {
    await this.until(async () => !(await this.exists(name)))
  }

  /** Until the log has a line with this in it. */
  async untilLogged(text: string): Promise<void> {
    await this.until(() => this.logs.some((line) => line.includes(text)))
  }

  /** Work that no clock knows of, such as that of another thread: no time is skipped while it lasts. */
  async outside<T>(work: Promise<T>): Promise<T> {
    this.#outside += 1
    try {
      return await work
    } finally {
      this.#outside -= 1
    }
  }

  /** Lets so much time pass, with all that happens in it. */
  async elapse(seconds: number): Promise<void> {
    const endMs = this.clock.now() + seconds * 1000
    if (this.clock instanceof SkippingClock) {
      for (;;) {
        const isAsking = this.server.webhookCalls > 0
        await untilIdle(this.clock)
        if (isAsking || this.server.webhookCalls > 0) await systemClock.sleep(1)
        else if (!this.clock.skip(endMs)) break
      }
      this.clock.set(endMs)
      await untilIdle(this.clock)
    } else {
      await systemClock.sleep(seconds * 1000)
    }
  }

  #openEmbedded(): Target {
    const clock = new SkippingClock()
    this.server = new ApiServer({ clock })
    const transport = trackTraffic(this.server, clock)
    return {
      clock,
      access: { transport },
      transport: () => transport,
      call: async (method, path, body, contentType) =>
        (await ask(this.server, method, path, {
          ...(body === undefined ? {} : { body }),
          ...(contentType === undefined ? {} : { headers: { 'content-type': contentType } }),
        })) as unknown as Reply,
      mark: () => clock.changes,
      pass: async (mark) => {
        // Calls to webhooks go over sockets, even in one process; what follows from an answer shall happen first.
        const isAsking = this.server.webhookCalls > 0
        await untilIdle(clock)
        if (isAsking || this.#outside > 0 || this.server.webhookCalls > 0) {
          await systemClock.sleep(1)
          return true
        }
        if (clock.changes !== mark) return true
        if (this.#options.hasSockets && (await stirs(clock))) return true
        return clock.skip()
      },
      stop: async () => {},
    }
  }
}

/** Whether something happens within a moment of real time. */
async function stirs(clock: SkippingClock): Promise<boolean> {
  const { changes } = clock
  for (let waitedMs = 0; waitedMs < 30 && clock.changes === changes; waitedMs += 3) await systemClock.sleep(3)
  return clock.changes !== changes
}

function openReal({ url, caPem, admin }: NonNullable<LabOptions['cluster']>): Target {
  const api = new Api({ url, caPem, credentials: admin })
  const connection = new ConnectionInfo({
    server: url,
    caData: caPem,
    certificateData: admin.certPem,
    privateKeyData: admin.keyPem,
  })
  let transport: HttpsTransport | undefined
  return {
    clock: systemClock,
    access: { connection },
    transport: () => (transport ??= createHttpsTransport(connection)),
    call: async (method, path, body, contentType) => {
      const {
        status,
        text,
        headers,
        body: answer,
      } = await api.request(method, path, {
        ...(body === undefined ? {} : { body }),
        ...(contentType === undefined ? {} : { headers: { 'content-type': contentType } }),
      })
      return { status, text, headers, body: answer as unknown as Body }
    },
    mark: () => 0,
    pass: async () => {
      await systemClock.sleep(20)
      return true
    },
    stop: async () => {
      api.close()
      await transport?.close()
    },
  }
}

export function useLab(options: LabOptions = {}): Lab {
  const lab = new Lab(options)
  beforeAll(() => lab.open())
  afterEach(() => lab.stopAll())
  afterAll(() => lab.close())
  return lab
}
