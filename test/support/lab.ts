/**
 * A test cluster of `kopf/testing` for one test file, with the conveniences of our own suites: one custom resource (`widgets`) per file,
 * raw requests, recorded requests. On the embedded server time is skipped; on the real control plane it passes.
 */

import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { OpenObject, Operator, RunningOperator, RunOptions } from 'kopf'
import type { ApiServer } from 'kopf/server'
import { type Cluster, type ClusterClock, type Manifest, SkippingClock, startCluster } from 'kopf/testing'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import type { Tree } from './answers.ts'
import { Api } from './api.ts'
import { type CrdOptions, crd } from './crds.ts'
import { ask } from './in-process.ts'
import { isReal, type RealAccess, toConnection } from './real-access.ts'
import { Recording } from './recording.ts'

/** An object as the API answers it. */
export type Body = OpenObject

export interface Reply {
  readonly status: number
  readonly body: Body
  readonly text: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export interface LabOptions {
  /** Whether `widgets` have a status subresource. Default: true. */
  readonly status?: boolean
  readonly crd?: Partial<CrdOptions>
  /** Operators listen on sockets and create certificates, which takes real time: time is not skipped meanwhile. */
  readonly hasSockets?: boolean
  /** Another control plane than the one that all test files share. Only with the real one. */
  readonly cluster?: RealAccess
}

const waitOptions = { timeout: isReal ? '25s' : '1h', patience: '25s' } as const

function toManifest(options: CrdOptions): Manifest {
  return crd(options) as { apiVersion: string; kind: string }
}

export class Lab {
  readonly namespace: string
  readonly group: string
  readonly isReal: boolean = isReal
  readonly #options: LabOptions
  readonly #running = new Set<RunningOperator>()
  #cluster!: Cluster
  /** Undefined on the embedded server. */
  #api: Api | undefined

  constructor(options: LabOptions) {
    const id = randomBytes(4).toString('hex')
    this.namespace = `lab-${id}`
    this.group = `g${id}.example.com`
    this.#options = options
  }

  /** The selector of the custom resource of this file. */
  get widgets(): readonly [string, string, string] {
    return [this.group, 'v1', 'widgets']
  }

  /** The test cluster. Its own namespace is not the namespace of the lab, whose name is known before the cluster starts. */
  get cluster(): Cluster {
    return this.#cluster
  }

  get clock(): ClusterClock {
    return this.#cluster.clock
  }

  /** The same clock, for tests that set it. Only with the embedded server. */
  get skippingClock(): SkippingClock {
    const clock: unknown = this.#cluster.clock
    if (clock instanceof SkippingClock) return clock
    throw new Error('The clock of a real cluster cannot be set')
  }

  /** Only with the embedded server. */
  get server(): ApiServer {
    return this.#cluster.server
  }

  /** The lines logged since the last operator was started, in the plain format: `[ns/name] message`. */
  get logs(): string[] {
    return this.#cluster.logs
  }

  async open(): Promise<void> {
    const { status = true, hasSockets = false } = this.#options
    const access = isReal ? (this.#options.cluster ?? inject('realCluster')) : undefined
    if (access !== undefined) this.#api = new Api({ ...access, credentials: access.admin })
    const subresources = status ? { subresources: { status: {} } } : {}
    const definition = toManifest({ group: this.group, kind: 'Widget', ...subresources, ...this.#options.crd })
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace } }
    this.#cluster = await startCluster({
      clock: hasSockets ? 'skipping' : 'deterministic',
      real: access === undefined ? false : toConnection(access),
      manifests: [definition, namespace],
    })
  }

  async close(): Promise<void> {
    await this.stopAll()
    await this.#cluster.stop()
    this.#api?.close()
  }

  /** Creates a CRD in the group of this file and waits until it is served. It is deleted with the lab. */
  install(options: Omit<CrdOptions, 'group'>): Promise<void> {
    return this.installAs({ group: this.group, ...options })
  }

  async installAs(options: CrdOptions): Promise<void> {
    await this.#cluster.apply(toManifest(options))
  }

  /** Starts the operator and waits until it is ready. It is stopped at the end of the test. */
  // biome-ignore lint/suspicious/noExplicitAny: operators with any memo.
  async start(operator: Operator<any>, options: RunOptions = {}): Promise<RunningOperator> {
    this.logs.length = 0
    const running = await operator.start({ ...this.#cluster, namespaces: [this.namespace], ...options })
    this.#running.add(running)
    await this.#finished(running.ready)
    return running
  }

  async stop(running: RunningOperator): Promise<void> {
    this.#running.delete(running)
    await this.#finished(running.stop())
  }

  async stopAll(): Promise<void> {
    for (const running of this.#running) await this.stop(running).catch(() => {})
  }

  /** Lets time pass until the promise is settled. With sockets the cluster does that itself, at a pace that leaves them real time. */
  async #finished(work: Promise<void>): Promise<void> {
    if (this.#options.hasSockets) return await work
    let isOver = false
    const over = () => {
      isOver = true
    }
    work.then(over, over)
    await this.until(() => isOver)
    await work
  }

  /** A transport that records requests: `start(operator, { transport: lab.record() })`. */
  record(): Recording {
    return new Recording(this.#cluster.openTransport())
  }

  /** Sends a request as an administrator. Faults of the embedded server do not apply to it. */
  async call(method: string, path: string, body?: unknown, contentType?: string): Promise<Reply> {
    const options = {
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { headers: { 'content-type': contentType } }),
    }
    const reply = this.#api?.request(method, path, options) ?? ask(this.server, method, path, options)
    return (await reply) as unknown as Reply
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

  /** Waits until the condition is true. Time passes meanwhile. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    await this.#cluster.until(condition, waitOptions)
  }

  /** Waits until the present state of the object is as expected, and resolves with the object. */
  async untilObject(name: string, isExpected: (body: Body) => boolean): Promise<Body> {
    let last = {} as Body
    await this.until(async () => {
      const { status, body } = await this.call('GET', this.path(name))
      last = body
      return status === 200 && isExpected(body)
    })
    return last
  }

  async untilGone(name: string): Promise<void> {
    await this.until(async () => !(await this.exists(name)))
  }

  /** Waits until a line of the log contains the text. */
  async untilLogged(text: string): Promise<void> {
    await this.until(() => this.logs.some((line) => line.includes(text)))
  }

  /** Work that the clock cannot see, such as that of another thread: no time is skipped until it is done. */
  outside<T>(work: Promise<T>): Promise<T> {
    return this.clock.hold(work)
  }

  /** Lets this much time pass, with everything that happens in it. */
  async elapse(seconds: number): Promise<void> {
    // The clock of the kit also waits until the watches of the test have caught up, which the lab does not need.
    if (this.isReal) await setTimeout(seconds * 1000)
    else await this.clock.advance(seconds)
  }
}

export function useLab(options: LabOptions = {}): Lab {
  const lab = new Lab(options)
  beforeAll(() => lab.open())
  afterEach(() => lab.stopAll())
  afterAll(() => lab.close())
  return lab
}
