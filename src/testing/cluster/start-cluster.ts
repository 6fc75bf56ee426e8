/** Starts a cluster for tests: opens it, and puts there what the test needs. */

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

/** What the cluster of a test has at the start, and how its time passes. */
export interface StartClusterOptions {
  /** Custom resources whose definitions (CRDs) are to be there: what `defineResource` returns. */
  readonly resources?: readonly CustomResource<object>[]
  /** Objects to be there at the start: CRDs and namespaces first, then the others in this order. */
  readonly objects?: readonly SelfDescribed[]
  /**
   * Files with objects to be there at the start: YAML or JSON with any number of documents, or folders of such files. CRDs and
   * namespaces are created first, in any file, and the CRDs are served when the cluster is ready. Paths are relative to the
   * working directory of the process; a `URL` may be relative to the file of the test.
   *
   * @example
   * ```ts
   * await using cluster = await startCluster({ manifests: ['deploy/crd.yaml', 'deploy/rbac'] })
   * ```
   */
  readonly manifests?: readonly Manifest[]
  /**
   * Namespaces of the test, to which operators are limited; the first is that of the cluster. On a real cluster they have names of
   * their own: `cluster.namespaceOf('blue')` tells them, and manifests are put there by themselves. Default: `default`, with
   * operators for the whole cluster; on a real cluster one new namespace.
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
   * `rbac`: what service accounts may do is told by roles, as on a real cluster; see `Cluster.as`. Default: whoever has
   * credentials may do everything. Of no effect with `real`.
   */
  readonly authorization?: 'rbac' | 'always-allow'
  /**
   * Brings built-in kinds to life: deployments get pods that become ready, jobs complete, claims are bound. `'all'`, or some by name.
   * Not on a real cluster, which has its own. Default: none.
   */
  readonly controllers?: 'all' | readonly ControllerChoice[]
  /** A real cluster instead: true for that of the kubeconfig, or a connection. Default: the embedded one. */
  readonly real?: boolean | ConnectionInfo
}

/**
 * A cluster of this test's own: the embedded API server, in this process. Operators are started on it as they are.
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
  const tidy = () => (real === false ? Promise.resolve() : contents.takeBack())
  try {
    await contents.install(resources, given)
    return new Cluster(backend, { contents, tidy, startVersion: await backend.currentVersion() })
  } catch (error) {
    await tidy().catch(() => {})
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
