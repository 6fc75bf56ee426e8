/**
 * The cluster of the operator benchmarks: a real control plane with an audit log, on the same core as the driver, and one user per
 * operator. Every measurement has its own namespace, so nothing has to be cleaned up in between.
 */
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { callApi } from '../../tools/envtest/api.ts'
import { type ControlPlane, startControlPlane } from '../../tools/envtest/control-plane.ts'
import type { AuditLevel } from '../../tools/envtest/files.ts'
import { type AuditEntry, AuditLog } from '../../tools/kopf/audit-log.ts'
import { createTokenUser, type TokenUser } from '../../tools/kopf/service-account.ts'
import { type Access, Connection } from './connection.ts'
import { check } from './measure.ts'
import { bodyOf, pathOf, schemalessCrd } from './schemaless-gadgets.ts'

export interface BenchClusterOptions {
  /** With "RequestResponse", writes that changed nothing can be counted. */
  readonly audit: AuditLevel
  /** Whether the server and the driver run on another core than the operator. */
  readonly isPinned: boolean
}

const serverCore = 0

export class BenchCluster implements AsyncDisposable {
  readonly access: Access
  readonly caPem: string
  /** The core of the operators; undefined if they may run on any. */
  readonly operatorCore: number | undefined
  readonly #plane: ControlPlane
  readonly #log: AuditLog
  readonly #users = new Map<string, Promise<TokenUser>>()
  readonly #entries: AuditEntry[] = []
  #namespaces = 0

  private constructor(plane: ControlPlane, operatorCore: number | undefined) {
    this.#plane = plane
    this.#log = new AuditLog(plane.auditLog!)
    this.access = { url: plane.url, caPem: plane.caPem, user: plane.admin }
    this.caPem = plane.caPem
    this.operatorCore = operatorCore
  }

  static async start({ audit, isPinned }: BenchClusterOptions): Promise<BenchCluster> {
    const plane = await startControlPlane({ audit, controllers: false, fsync: true })
    const canPin = isPinned && cpus().length > 1
    if (canPin) {
      for (const pid of [plane.pids.apiServer, plane.pids.etcd, process.pid]) {
        execFileSync('taskset', ['-acp', String(serverCore), String(pid)], { stdio: 'ignore' })
      }
    }
    const cluster = new BenchCluster(plane, canPin ? serverCore + 1 : undefined)
    await cluster.#installCrd()
    return cluster
  }

  get folder(): string {
    return this.#plane.folder
  }

  /** The user of an operator. Every call with the same name returns the same user. */
  userOf(name: string): Promise<TokenUser> {
    const { url, caPem, admin } = this.#plane
    let user = this.#users.get(name)
    if (user === undefined) {
      user = createTokenUser({ url, caPem, user: admin }, name, this.#plane.folder)
      this.#users.set(name, user)
    }
    return user
  }

  async createNamespace(): Promise<string> {
    this.#namespaces += 1
    const name = `bench-${this.#namespaces}`
    await this.#post('/api/v1/namespaces', { metadata: { name } })
    return name
  }

  /** The requests of the operators so far. At the level "RequestResponse" also those of the driver; otherwise they are dropped. */
  audit(): readonly AuditEntry[] {
    for (const entry of this.#log.read()) if (this.#isKept(entry)) this.#entries.push(entry)
    return this.#entries
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#plane.stop()
  }

  #isKept({ user, resourceVersion }: AuditEntry): boolean {
    return resourceVersion !== undefined || user.startsWith('system:serviceaccount:')
  }

  async #installCrd(): Promise<void> {
    await this.#post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', schemalessCrd)
    const connection = await Connection.open(this.access)
    // After a CRD is accepted, the API server refuses creations for longer than lists.
    for (;;) {
      const path = `${pathOf('default')}?dryRun=All`
      const { status } = await connection.send({ method: 'POST', path, body: bodyOf('probe', 0) })
      if (status === 201) break
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    connection.close()
  }

  async #post(path: string, body: object): Promise<void> {
    const { url, caPem, admin } = this.#plane
    const answer = await callApi({ url, caPem, user: admin }, { method: 'POST', path, body })
    check(answer.status === 201, `POST ${path}: ${answer.status} ${answer.text}`)
  }
}
