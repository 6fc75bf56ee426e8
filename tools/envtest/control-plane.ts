/**
 * A real Kubernetes control plane for tests and benchmarks: etcd, kube-apiserver and kube-controller-manager on
 * loopback ports, with TLS and RBAC as in a cluster, but without nodes: pods are stored and never run.
 * Called by cluster.ts (`npm run cluster`), by the set-up of the "real" tests and by the benchmarks. It reads no kubeconfig
 * of the user, and leaves neither process nor folder behind, however this process ends.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiTarget, callApi } from './api.ts'
import { type Binaries, ensureBinaries } from './binaries.ts'
import { type Credentials, createCertificates } from './certificates.ts'
import { type AuditLevel, type Kubeconfigs, writeFiles } from './files.ts'
import { findFreePorts } from './ports.ts'
import { type Layout, type Pids, Processes } from './processes.ts'
import { startWatchdog } from './watchdog.ts'

export interface ControlPlaneOptions {
  /** Log each request to `auditLog`; true is the level "Metadata". Default false. */
  readonly audit?: boolean | AuditLevel
  /**
   * Run the garbage collector and the controllers of namespaces and service accounts; an array adds controllers by name.
   * Default true.
   */
  readonly controllers?: boolean | readonly string[]
  /** Whether etcd waits for the disk, as in production. Default false: data is lost only if the machine crashes. */
  readonly fsync?: boolean
  readonly featureGates?: Readonly<Record<string, boolean>>
  /** Further arguments of kube-apiserver; they override ours. */
  readonly apiServerArgs?: readonly string[]
  /** Called with progress messages while the programs are built. Default: no messages. */
  readonly onProgress?: (line: string) => void
}

export interface ControlPlane extends AsyncDisposable {
  /** Without a trailing slash; does not change on restarts. */
  readonly url: string
  readonly caPem: string
  /** May do everything (system:masters). */
  readonly admin: Credentials
  /** May do everything on all resources, by the ClusterRole and ClusterRoleBinding "kopf-operator". */
  readonly operator: Credentials
  /** Authenticated, without any permission. */
  readonly nobody: Credentials
  readonly kubeconfigs: Kubeconfigs
  readonly binaries: Binaries
  /** Contains all files of the control plane, including the logs; removed by `stop()`. */
  readonly folder: string
  readonly auditLog: string | undefined
  readonly pids: Pids
  /** SIGTERM, wait for the exit, start: like an upgrade. */
  restartApiServer(): Promise<void>
  /** SIGKILL: like a crash. */
  killApiServer(): Promise<void>
  /** Resolves when the API server is ready. */
  startApiServer(): Promise<void>
  killEtcd(): Promise<void>
  /** Resolves when etcd is ready, and the API server too if it is running. */
  startEtcd(): Promise<void>
  stop(): Promise<void>
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = await ensureBinaries({ ...(options.onProgress && { onProgress: options.onProgress }) })
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(binaries, options)
    } catch (error) {
      const isPortTaken = error instanceof Error && error.message.includes('address already in use')
      if (!isPortTaken || attempt === 3) throw error
    }
  }
}

async function start(binaries: Binaries, options: ControlPlaneOptions): Promise<ControlPlane> {
  const layout = await prepare(binaries, options)
  const processes = new Processes(layout)
  try {
    await processes.start()
    await grantOperator(layout.admin)
  } catch (error) {
    await processes.stop()
    throw error
  }
  return toControlPlane(layout, processes)
}

async function prepare(binaries: Binaries, options: ControlPlaneOptions): Promise<Layout> {
  const folder = await mkdtemp(join(tmpdir(), 'kopf-control-plane-'))
  const watchdog = startWatchdog(folder)
  const [apiServer, etcd, etcdPeer] = (await findFreePorts(3)) as [number, number, number]
  const certificates = await createCertificates()
  const url = `https://127.0.0.1:${apiServer}`
  const auditLevel = typeof options.audit === 'string' ? options.audit : 'Metadata'
  return {
    binaries,
    folder,
    watchdog,
    ports: { apiServer, etcd, etcdPeer },
    certificates,
    files: await writeFiles(folder, url, { certificates, auditLevel }),
    admin: { url, caPem: certificates.caPem, user: certificates.admin },
    auditLog: options.audit ? join(folder, 'audit.log') : undefined,
    controllers: controllersOf(options),
    fsync: options.fsync ?? false,
    featureGates: options.featureGates ?? {},
    apiServerArgs: options.apiServerArgs ?? [],
  }
}

function controllersOf({ controllers = true }: ControlPlaneOptions): readonly string[] | undefined {
  if (controllers === false) return undefined
  return controllers === true ? [] : controllers
}

function toControlPlane(layout: Layout, processes: Processes): ControlPlane {
  const { admin, operator, nobody, caPem } = layout.certificates
  const stop = (): Promise<void> => processes.stop()
  return {
    url: layout.admin.url,
    caPem,
    admin,
    operator,
    nobody,
    kubeconfigs: layout.files.kubeconfigs,
    binaries: layout.binaries,
    folder: layout.folder,
    auditLog: layout.auditLog,
    get pids() {
      return processes.pids
    },
    restartApiServer: () => processes.restartApiServer(),
    killApiServer: () => processes.killApiServer(),
    startApiServer: () => processes.startApiServer(),
    killEtcd: () => processes.killEtcd(),
    startEtcd: () => processes.startEtcd(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Grants all verbs on all resources by RBAC rather than by a group, so that a test can revoke a permission or review it. */
async function grantOperator(admin: ApiTarget): Promise<void> {
  const group = 'rbac.authorization.k8s.io'
  const metadata = { name: 'kopf-operator' }
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  const roleRef = { apiGroup: group, kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ apiGroup: group, kind: 'User', name: 'operator' }]
  for (const [plural, body] of [
    ['clusterroles', { metadata, rules }],
    ['clusterrolebindings', { metadata, roleRef, subjects }],
  ] as const) {
    const answer = await callApi(admin, { method: 'POST', path: `/apis/${group}/v1/${plural}`, body })
    if (answer.status !== 201) throw new Error(`Cannot create ${plural} "${metadata.name}": ${answer.text}`)
  }
}
