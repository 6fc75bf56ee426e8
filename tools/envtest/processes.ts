/**
 * Starts, kills, restarts and stops the programs of the control plane in the right order, and defines when it is ready.
 * Used by control-plane.ts, which creates the folder, the ports and the certificates first.
 */
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApiTarget, callApi } from './api.ts'
import { type Ports, toApiServerArgs, toControllerManagerArgs, toEtcdArgs } from './arguments.ts'
import type { Binaries } from './binaries.ts'
import type { Certificates } from './certificates.ts'
import { Child } from './child.ts'
import type { Files } from './files.ts'
import { waitUntil } from './waiting.ts'
import type { Watchdog } from './watchdog.ts'

/** The configuration of a control plane. It does not change after the first program has started. */
export interface Layout {
  readonly binaries: Binaries
  readonly folder: string
  readonly watchdog: Watchdog
  readonly ports: Ports
  readonly certificates: Certificates
  readonly files: Files
  readonly admin: ApiTarget
  readonly auditLog: string | undefined
  /** Controllers in addition to the default ones; undefined runs no controller manager. */
  readonly controllers: readonly string[] | undefined
  readonly fsync: boolean
  readonly featureGates: Readonly<Record<string, boolean>>
  readonly apiServerArgs: readonly string[]
}

/** Process ids; undefined while the process is down. */
export interface Pids {
  readonly etcd: number | undefined
  readonly apiServer: number | undefined
  readonly controllerManager: number | undefined
  readonly watchdog: number | undefined
}

const graceMs = 8_000

// The API server waits up to a minute (its --request-timeout) for open watches before it exits. All other requests are
// answered within this time; the grace period of a pod would also cut the watches off.
const apiServerGraceMs = 2_000

export class Processes {
  readonly #layout: Layout
  #etcd: Child | undefined
  #apiServer: Child | undefined
  #controllerManager: Child | undefined
  #stopping: Promise<void> | undefined
  readonly #onExit = (): void => this.#killAll()

  constructor(layout: Layout) {
    this.#layout = layout
    // No signal handlers: a signal ends this process, and then the watchdog kills the programs.
    process.once('exit', this.#onExit)
  }

  get pids(): Pids {
    return {
      etcd: this.#etcd?.pid,
      apiServer: this.#apiServer?.pid,
      controllerManager: this.#controllerManager?.pid,
      watchdog: this.#layout.watchdog.pid,
    }
  }

  /**
   * The API server waits for etcd by itself. The controller manager exits if the API server is not healthy within ten seconds,
   * which can take longer on a slow disk, so it starts after the API server is healthy.
   */
  async start(): Promise<void> {
    const etcd = this.#spawnEtcd()
    const apiServer = this.#spawnApiServer()
    await waitUntil(() => this.#isHealthy(), { what: 'kube-apiserver to be healthy', children: [etcd, apiServer] })
    const controllerManager = this.#spawnControllerManager()
    await this.#becomeReady([etcd, apiServer, ...(controllerManager ? [controllerManager] : [])])
  }

  async restartApiServer(): Promise<void> {
    await this.#apiServer?.stop(apiServerGraceMs)
    await this.startApiServer()
  }

  async killApiServer(): Promise<void> {
    await this.#apiServer?.kill()
  }

  async startApiServer(): Promise<void> {
    assertNotRunning(this.#apiServer)
    await this.#becomeReady([this.#spawnApiServer()])
  }

  async killEtcd(): Promise<void> {
    await this.#etcd?.kill()
  }

  async startEtcd(): Promise<void> {
    assertNotRunning(this.#etcd)
    const etcd = this.#spawnEtcd()
    await waitUntil(() => this.#isEtcdHealthy(), { what: 'etcd to be healthy', children: [etcd] })
    if (this.#apiServer?.pid !== undefined) await this.#becomeReady([etcd, this.#apiServer])
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    // etcd stops last: the API server removes its address from the endpoints before it exits.
    await Promise.all([this.#controllerManager?.stop(graceMs), this.#apiServer?.stop(apiServerGraceMs)])
    await this.#etcd?.stop(graceMs)
    await rm(this.#layout.folder, { recursive: true, force: true })
    await this.#layout.watchdog.dismiss()
    process.off('exit', this.#onExit)
  }

  /** Called on the exit of this process, when nothing can be awaited. */
  #killAll(): void {
    for (const child of [this.#etcd, this.#apiServer, this.#controllerManager]) void child?.kill()
    rmSync(this.#layout.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** The default service account is the last thing that the controllers create, so the control plane is ready when it exists. */
  async #becomeReady(children: readonly Child[]): Promise<void> {
    const paths = ['/readyz', '/api/v1/namespaces/default']
    if (this.#controllerManager) paths.push('/api/v1/namespaces/default/serviceaccounts/default')
    for (const path of paths) {
      const isThere = async (): Promise<boolean> => (await callApi(this.#layout.admin, { path })).status === 200
      await waitUntil(isThere, { what: `${path} of kube-apiserver`, children })
    }
  }

  async #isHealthy(): Promise<boolean> {
    return (await callApi(this.#layout.admin, { path: '/healthz' })).status === 200
  }

  async #isEtcdHealthy(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.#layout.ports.etcd}/readyz`)
    await answer.body?.cancel()
    return answer.ok
  }

  #spawnEtcd(): Child {
    const { binaries, folder, ports, fsync } = this.#layout
    const args = toEtcdArgs({ ports, dataFolder: join(folder, 'etcd'), fsync })
    this.#etcd = new Child({ name: 'etcd', program: binaries.etcd, args, folder })
    return this.#etcd
  }

  #spawnApiServer(): Child {
    const { binaries, folder, apiServerArgs: extra } = this.#layout
    const args = toApiServerArgs({ ...this.#layout, extra })
    this.#apiServer = new Child({ name: 'kube-apiserver', program: binaries.kubeApiserver, args, folder })
    return this.#apiServer
  }

  #spawnControllerManager(): Child | undefined {
    const { binaries, folder, files, featureGates, controllers } = this.#layout
    if (controllers === undefined || binaries.kubeControllerManager === undefined) return undefined
    const args = toControllerManagerArgs({ files, featureGates, controllers })
    const program = binaries.kubeControllerManager
    this.#controllerManager = new Child({ name: 'kube-controller-manager', program, args, folder })
    return this.#controllerManager
  }
}

function assertNotRunning(child: Child | undefined): void {
  if (child?.pid !== undefined) throw new Error(`Cannot start ${child.name}: it is running (pid ${child.pid})`)
}
