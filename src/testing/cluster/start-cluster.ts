/** `startCluster`: starts the embedded server or connects to a real cluster, and creates the objects that the test needs. */

import type { ConnectionInfo } from '../../client/auth/connection-info.ts'
import type { SelfDescribed } from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import type { ControllerChoice } from '../../server/controllers/workloads/names.ts'
import { Cluster } from './cluster.ts'
import type { ClockMode } from './cluster-clock.ts'
import { ClusterContents } from './cluster-contents.ts'
import { openEmbedded } from './embedded-backend.ts'
import { type Manifest, readManifests } from './manifests.ts'
import { openReal } from './real-backend.ts'

/** Options of `startCluster`: the initial objects, the namespaces, and the clock. */
export interface StartClusterOptions {
  /** Custom resources, as returned by `defineResource`, whose CRDs are created at the start. Default: none. */
  readonly resources?: readonly CustomResource<object>[]
  /** Objects to create at the start: CRDs and namespaces first, then the others in this order. Default: none. */
  readonly objects?: readonly SelfDescribed[]
  /**
   * YAML or JSON files, or folders of such files, whose objects are created at the start. CRDs and namespaces of all files are
   * created first, and the CRDs are served when `startCluster` resolves. Paths are relative to the working directory of the
   * process; use a `URL` for a path relative to the test file. Default: none.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ manifests: ['deploy/crd.yaml', 'deploy/rbac'] })
   * ```
   */
  readonly manifests?: readonly Manifest[]
  /**
   * The namespaces of the test. Operators are limited to them, and the first one is the default for objects. On a real cluster
   * they get generated names: `cluster.namespaceOf('blue')` returns the actual name, and namespaces in manifests are replaced.
   * Default: `default`, and operators watch the whole cluster; on a real cluster one new namespace.
   */
  readonly namespaces?: readonly string[]
  /**
   * How time passes on the embedded cluster:
   *
   * - `skipping`: time is skipped while the test waits, and passes in real time otherwise. Handlers get real time for their own I/O.
   * - `deterministic`: time stands still unless the test waits or an operator starts or stops, and is skipped as soon as nothing in this
   *   process can go on. Handlers get no real time: wrap I/O outside of this process in `cluster.clock.hold`.
   * - `real`: time passes as it does, for handlers that have timers of their own.
   *
   * No effect with the option `real`. Default: `skipping`.
   */
  readonly clock?: ClockMode
  /**
   * `rbac`: roles decide about the permissions of service accounts, as on a real cluster; see `Cluster.as`. `always-allow`: every
   * authenticated client may do everything. Default: `always-allow`. Has no effect with `real`.
   */
  readonly authorization?: 'rbac' | 'always-allow'
  /**
   * Simulates built-in controllers: Deployments get Pods that become ready, Jobs complete, PersistentVolumeClaims are bound.
   * `'all'`, or a list of names. Has no effect with `real`: a real cluster has its own controllers. Default: none.
   */
  readonly controllers?: 'all' | readonly ControllerChoice[]
  /**
   * Uses a real cluster: `true` for the cluster of the kubeconfig or of the Pod's service account, or a connection. Default:
   * `false`, the embedded server.
   */
  readonly real?: boolean | ConnectionInfo
}

/**
 * Starts a cluster for one test: the embedded API server in this process, or new namespaces of a real cluster. Pass the result to
 * `operator.start()`.
 *
 * @example
 * ```ts
 * await using cluster = await startCluster({ resources: [Database] })
 * await using _operator = await kopf.start(cluster)
 * await cluster.create(Database, { name: 'orders', spec: { engine: 'postgres', size: 1 } })
 * await cluster.until(Database, 'orders', ({ status }) => status?.phase === 'Ready')
 * ```
 */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  const { resources = [], objects = [], manifests = [], real = false, clock = 'skipping', ...server } = options
  const namespaces = checkNamespaces(options.namespaces)
  const given = await readManifests([...manifests, ...objects])
  const backend = await (real === false ? openEmbedded({ clock, ...server, namespaces }) : openReal(real, namespaces))
  const contents = new ClusterContents(backend)
  const cleanUp = () => (real === false ? Promise.resolve() : contents.cleanUp())
  try {
    await contents.install(resources, given)
    return new Cluster(backend, { contents, cleanUp, startVersion: await backend.currentVersion() })
  } catch (error) {
    await cleanUp().catch(() => {})
    await backend.close()
    throw error
  }
}

function checkNamespaces(namespaces: readonly string[] | undefined): readonly string[] | undefined {
  if (namespaces === undefined || namespaces.length > 0) return namespaces
  throw new KopfError(
    'KOPF_NAMESPACE',
    'Cannot start a cluster with no namespaces: leave `namespaces` out, or name one',
  )
}
