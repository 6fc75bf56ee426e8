/** Where a test cluster is: what is different between the embedded server and a real cluster. */

import type { ConnectionInfo } from '../../client/auth/connection-info.ts'
import { type Client, createClient } from '../../client/client.ts'
import { DiscoveryCache } from '../../client/discovery/discovery-cache.ts'
import { createSession, type Session } from '../../client/session.ts'
import type { Resource, ResourceLike } from '../../kube/resources/resources.ts'
import type { RunOptions } from '../../operator.ts'
import type { ApiServer } from '../../server/api-server.ts'
import type { Fault, FaultOptions } from '../../server/faults.ts'
import type { ServiceAccountName } from '../../server/identity/long-tokens.ts'
import type { RequestFilter, RequestRecord } from '../../server/request-log.ts'
import { createSettings } from '../../settings/settings.ts'
import type { Clock } from '../../util/async/clock.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import type { Transport } from '../../util/transport.ts'
import { LastSeen, notingSession } from '../waiting/last-seen.ts'
import type { BackendClock } from './cluster-clock.ts'

/** What goes wrong on purpose, for operators only: what the test itself asks for is answered. */
export interface ClusterFaults {
  /** Strikes the requests of operators to come. */
  add(options: FaultOptions): Fault
  /** Takes all faults away. */
  clear(): void
}

/** What operators have asked the cluster for. */
export interface ClusterRequests {
  /** The last requests, oldest first, that are as the filter says in all it names. */
  last(filter?: RequestFilter): readonly RequestRecord[]
  /** How many there were since the beginning or the last `clear`, by verb and resource: `{ 'patch widgets.example.com': 2 }`. */
  counts(): Readonly<Record<string, number>>
  /** Forgets all requests so far. */
  clear(): void
}

/** What operators are started with to be on a cluster. */
type BackendAccess = Pick<RunOptions, 'transport' | 'namespaces'> & { readonly connection?: ConnectionInfo }

export interface ClusterBackend {
  readonly clock: BackendClock
  readonly access: BackendAccess
  /** Where objects are by default: the first of the namespaces. */
  readonly namespace: string
  /** The namespaces of the test: by the names of the option `namespaces`, as they are called in the cluster. */
  readonly namespaces: ReadonlyMap<string, string>
  /** The client of the test: what it answers is noted in `lastSeen`. */
  readonly client: Client
  readonly lastSeen: LastSeen
  /** For the requests of the kit itself: they are not noted. */
  readonly session: Session
  /** Finds the one resource that is meant; rejects with `KOPF_RESOURCE` where the cluster does not serve it. */
  resolve(like: ResourceLike): Promise<Resource>
  /** The version of the last write in the cluster. */
  currentVersion(): Promise<string>
  readonly faults: ClusterFaults
  readonly requests: ClusterRequests
  /** The embedded API server. */
  readonly server: ApiServer
  /** A transport to the cluster with the identity of operators. Closed with the cluster. */
  openTransport(): Transport
  /** Changes with everything that is written; undefined where nobody can tell. */
  readonly version: string | undefined
  /** How long a test waits unless told: by the clock of the cluster, and by that of this machine. */
  readonly timeoutMs: number
  readonly patienceMs: number
  /** Time passes for it while the work lasts. */
  waited<T>(work: () => Promise<T>): Promise<T>
  /**
   * Lets everything happen that can, and resolves to true: the caller looks at the state again before time passes. If `isIdle` is true, the
   * caller has just done that: time passes, but not beyond the limit, and the result is false.
   */
  pass(limitMs: number, isIdle: boolean): Promise<boolean>
  /** The same for an operator that is this service account. */
  accessFor(account: ServiceAccountName): Promise<BackendAccess>
  /** A file by which other programs find the cluster; as an administrator, or as this service account. */
  kubeconfig(account?: ServiceAccountName): Promise<string>
  close(): Promise<void>
}

export function createTestSession(transport: Transport, clock: Clock): Session {
  const { networking } = createSettings()
  return createSession({ transport, networking, clock, userAgent: `kopf-testing/${packageVersion()}` })
}

/** The client of the test itself, and the rest of the kit's access. */
export function createTestAccess(
  session: Session,
  namespace: string,
): Pick<ClusterBackend, 'client' | 'lastSeen' | 'session' | 'resolve'> {
  const discovery = new DiscoveryCache(() => session, [])
  const resolve = (like: ResourceLike) => discovery.resolve(like)
  const lastSeen = new LastSeen()
  const client = createClient({ session: notingSession(session, lastSeen), resolve, namespace })
  return { client, lastSeen, session, resolve }
}
