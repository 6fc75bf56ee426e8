/**
 * The server under test with one interface for both: a real control plane, or the embedded server.
 * Called once at the top of a test file; provides a namespace and an API group for that file, and cleans up.
 */
import { randomBytes } from 'node:crypto'
import type { StartServerOptions } from 'kopf/server'
import { afterAll, beforeAll, inject } from 'vitest'
import type { Body, Tree } from './answers.ts'
import { Api, type Credentials } from './api.ts'
import { type CrdOptions, crd, crdsPath, installCrd, unconverted } from './crds.ts'
import { expectStatus } from './expectations.ts'

/** Options of the embedded server. The real server always has RBAC. */
type ServerOptions = Pick<StartServerOptions, 'authorization'>

interface Target {
  readonly url: string
  readonly caPem: string
  readonly admin: Credentials
  /** After this, a watch cannot resume from an older version. */
  compactHistory(): void
  stop(): Promise<void>
}

async function startTarget(options: ServerOptions): Promise<Target> {
  if (process.env['KOPF_TEST_CLUSTER'] === 'real') {
    // A real server has no history of a kind whose CRD has just been created.
    return { ...inject('realCluster'), compactHistory: () => {}, stop: async () => {} }
  }
  const { startServer } = await import('kopf/server')
  const server = await startServer(options)
  return {
    url: server.url,
    caPem: server.ca!,
    admin: { token: server.token! },
    compactHistory: () => server.api.compact(),
    stop: () => server.stop(),
  }
}

export class Cluster {
  /** A client with all permissions. */
  api!: Api
  /** A client without credentials. */
  anonymous!: Api
  url!: string
  caPem!: string
  admin!: Credentials
  /** The namespace of this test file. */
  readonly namespace: string
  /** The API group of this test file. */
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

  /** Creates a CRD in the group of this file, and deletes it at the end. */
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

  /** Creates another namespace for this file, and deletes it at the end. */
  async createNamespace(suffix: string): Promise<string> {
    const name = `${this.namespace}-${suffix}`
    const path = '/api/v1/namespaces'
    expectStatus(await this.api.post(path, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }), 201)
    this.defer(() => this.api.delete(`${path}/${name}`))
    return name
  }

  /** Registers a clean-up function. They run at the end, in reverse order. */
  defer(cleanUp: () => unknown): void {
    this.#closing.push(cleanUp)
  }

  /** Makes older versions unavailable. Valid only for kinds whose CRD the test itself has created, and versions before that. */
  compactHistory(): void {
    this.#target?.compactHistory()
  }

  /** A client that impersonates a user. */
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
