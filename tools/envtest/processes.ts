/**
 * The life of the programs: who is started before whom, what "ready" means, how each is killed and comes back, and that
 * all of them end. Used by control-plane.ts, which has made the folder, the ports and the certificates.
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

/** What is settled before the first program starts, and never changes afterwards. */
export interface Layout {
  readonly binaries: Binaries
  readonly folder: string
  readonly watchdog: Watchdog
  readonly ports: Ports
  readonly certificates: Certificates
  readonly files: Files
  readonly admin: ApiTarget
  readonly auditLog: string | undefined
  /** Undefined where none are to run; else those beside the usual ones. */
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

// The API server leaves open watches alone for up to a minute (its --request-timeout) before it ends; a pod's grace
// period would cut it off as well. By now it has answered what else was under way.
const apiServerGraceMs = 2_000

export class Processes {
  readonly #layout: Layout
  #etcd: Child | undefined
  #apiServer: Child | undefined
  #controllerManager: Child | undefined
  #stopping: Promise<void> | undefined
  readonly #onExit = (): void => this.#abandon()

  constructor(layout: Layout) {
    this.#layout = layout
    // Signals are left alone: without a handler they end this process, and then the watchdog has its turn.
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
   * The API server waits for etcd by itself; the controller manager gives up where the API server is not healthy within
   * ten seconds, which on a slow disk it may not be: so it starts last, and only then.
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
    refuseSecond(this.#apiServer)
    await this.#becomeReady([this.#spawnApiServer()])
  }

  async killEtcd(): Promise<void> {
    await this.#etcd?.kill()
  }

  async startEtcd(): Promise<void> {
    refuseSecond(this.#etcd)
    const etcd = this.#spawnEtcd()
    await waitUntil(() => this.#isEtcdHealthy(), { what: 'etcd to be healthy', children: [etcd] })
    if (this.#apiServer?.pid !== undefined) await this.#becomeReady([etcd, this.#apiServer])
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    // etcd last: the API server takes its own address out of the endpoints before it ends.
    await Promise.all([this.#controllerManager?.stop(graceMs), this.#apiServer?.stop(apiServerGraceMs)])
    await this.#etcd?.stop(graceMs)
    await rm(this.#layout.folder, { recursive: true, force: true })
    await this.#layout.watchdog.dismiss()
    process.off('exit', this.#onExit)
  }

  /** For the last moment of this process, where nothing can be awaited. */
  #abandon(): void {
    for (const child of [this.#etcd, this.#apiServer, this.#controllerManager]) void child?.kill()
    rmSync(this.#layout.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** The default service account is what the controllers make last of what everybody relies on. */
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

function refuseSecond(child: Child | undefined): void {
  if (child?.pid !== undefined) throw new Error(`Cannot start ${child.name}: it is running (pid ${child.pid})`)
}
