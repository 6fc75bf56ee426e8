/** Starts a cluster for tests: opens it, and puts there what the test needs. */
import type { SelfDescribed } from '../client/client-options.ts'
import type { ConnectionInfo } from '../client/credentials.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { CustomResource } from '../kube/resources.ts'
import type { ControllerChoice } from '../server/controllers/life/names.ts'
import { Cluster } from './cluster.ts'
import { install, releaseObjects, uninstall } from './definitions.ts'
import { openEmbedded } from './embedded-site.ts'
import { openReal } from './real-site.ts'
import type { Site } from './site.ts'

/** What the cluster of a test has at the start, and how its time passes. */
export interface StartClusterOptions {
  /** Custom resources whose definitions (CRDs) are to be there: what `defineResource` returns. */
  readonly resources?: readonly CustomResource<object>[]
  /** Objects to be there at the start, in this order; CRDs too. */
  readonly objects?: readonly SelfDescribed[]
  /** `real`: time passes as it does, for handlers that have timers of their own. Default: `skipping`. */
  readonly clock?: 'skipping' | 'real'
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
  const { resources = [], objects = [], real = false, clock = 'skipping', ...server } = options
  const isSkipping = clock === 'skipping'
  const site = real === false ? openEmbedded({ isSkipping, ...server }) : await openReal(real)
  let definitions: readonly KubeObject[] = []
  const tidy = () => (real === false ? Promise.resolve() : takeBack(site, resources, definitions))
  try {
    definitions = await install(site, resources)
    for (const object of objects) await site.client.create(object)
    return new Cluster(site, { resources, tidy, startVersion: await site.currentVersion() })
  } catch (error) {
    await tidy().catch(() => {})
    await site.close()
    throw error
  }
}

async function takeBack(
  site: Site,
  resources: readonly CustomResource<object>[],
  definitions: readonly KubeObject[],
): Promise<void> {
  await releaseObjects(site, resources)
  await uninstall(site, definitions)
}
