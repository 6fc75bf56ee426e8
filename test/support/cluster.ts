/**
 * The server under test, the same words for both: a real control plane, or the server of this package.
 * Called once at the top of a test file; gives it a namespace and an API group of its own, and cleans up after it.
 */
import { randomBytes } from 'node:crypto'
import type { StartServerOptions } from 'kopf/server'
import { afterAll, beforeAll, inject } from 'vitest'
import type { Body, Tree } from './answers.ts'
import { Api, type Credentials } from './api.ts'
import { type CrdOptions, crd, crdsPath, installCrd, unconverted } from './crds.ts'
import { expectStatus } from './expectations.ts'

/** For the embedded server: the real one always has RBAC. */
type ServerOptions = Pick<StartServerOptions, 'authorization'>

interface Target {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
  /** Afterwards a watch cannot go on from what was before. */
  forgetPast(): void
  stop(): Promise<void>
}

async function startTarget(options: ServerOptions): Promise<Target> {
  if (process.env['KOPF_TEST_CLUSTER'] === 'real') {
    // Of a kind that was defined a moment ago, a real server knows no past in any case.
    return { ...inject('realCluster'), forgetPast: () => {}, stop: async () => {} }
  }
  const { startServer } = await import('kopf/server')
  const server = await startServer(options)
  return {
    url: server.url,
    caPem: server.ca!,
    admin: { token: server.token! },
    forgetPast: () => server.api.compact(),
    stop: () => server.stop(),
  }
}

export class Cluster {
  /** The administrator, who may do everything. */
  api!: Api
  /** Somebody without a name. */
  anonymous!: Api
  url!: string
  caPem!: string
  admin!: Credentials
  /** Nobody else writes to it. */
  readonly namespace: string
  /** Nobody else defines anything in it. */
  readonly group: string

  readonly #closing: Array<() => unknown> = []
  #target: Target | undefined

  readonly #options: ServerOptions

  constructor(options: ServerOptions = {}) {
    this.#options = options
    const id = randomBytes(4).toString('hex')
    this.namespace = `conformance-${id}`
    this.group = `g${id}.example.com`
  }

  /** `/api/v1/namespaces/<ours>/<rest>`. */
  core(rest: string): string {
    return `/api/v1/namespaces/${this.namespace}/${rest}`
  }

  /** `/apis/<our group>/<version>/namespaces/<ours>/<rest>`. */
  custom(rest: string, version: string = 'v1'): string {
    return `/apis/${this.group}/${version}/namespaces/${this.namespace}/${rest}`
  }

  /** `/apis/<group>/<version>/namespaces/<ours>/<rest>`. */
  grouped(groupVersion: string, rest: string): string {
    return `/apis/${groupVersion}/namespaces/${this.namespace}/${rest}`
  }

  /** Installs a definition in the group of this file; removed with everything else. */
  install(options: Omit<CrdOptions, 'group'>): Promise<Body> {
    return this.installAs({ group: this.group, ...options })
  }

  installAs(options: CrdOptions): Promise<Body> {
    const definition = crd(options)
    const path = `${crdsPath}/${(definition['metadata'] as Tree)['name']}`
    this.defer(async () => {
      if (options.spec?.['conversion'] !== undefined) await this.api.mergePatch(path, unconverted)
      await this.api.delete(path)
    })
    return installCrd(this.api, definition)
  }

  /** A further namespace of this file's own. */
  async createNamespace(suffix: string): Promise<string> {
    const name = `${this.namespace}-${suffix}`
    const path = '/api/v1/namespaces'
    expectStatus(await this.api.post(path, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }), 201)
    this.defer(() => this.api.delete(`${path}/${name}`))
    return name
  }

  /** Done at the end, last one first. */
  defer(cleanUp: () => unknown): void {
    this.#closing.push(cleanUp)
  }

  /** Only for kinds that the test itself has defined, and versions from before that. */
  forgetPast(): void {
    this.#target?.forgetPast()
  }

  /** The administrator in the name of somebody else. */
  impersonating(user: string, groups: readonly string[] = []): Api {
    return this.asUser({ ...this.admin, impersonated: { user, groups } })
  }

  asUser(credentials: Credentials): Api {
    const api = this.api.as(credentials)
    this.defer(() => api.close())
    return api
  }

  async start(): Promise<void> {
    const target = await startTarget(this.#options)
    this.#target = target
    this.url = target.url
    this.caPem = target.caPem
    this.admin = target.admin
    this.api = new Api({ url: target.url, caPem: target.caPem, credentials: target.admin })
    this.anonymous = this.asUser({})
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace } }
    expectStatus(await this.api.post('/api/v1/namespaces', body), 201)
    this.defer(() => this.api.delete(`/api/v1/namespaces/${this.namespace}`))
  }

  async stop(): Promise<void> {
    for (const cleanUp of this.#closing.toReversed()) await cleanUp()
    this.api.close()
    await this.#target?.stop()
  }
}

export function useCluster(options?: ServerOptions): Cluster {
  const cluster = new Cluster(options)
  beforeAll(() => cluster.start())
  afterAll(() => cluster.stop())
  return cluster
}
