/**
 * The interface between the test kit and its cluster: everything that differs between the embedded server and a real cluster.
 * Implemented by embedded-backend.ts and real-backend.ts.
 */

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
import { LastSeen, recordingSession } from '../waiting/last-seen.ts'
import type { BackendClock } from './cluster-clock.ts'

/**
 * Injects faults into the requests of operators. Requests of the test itself are not affected.
 *
 * @example
 * ```ts
 * cluster.faults.add({ on: { verb: 'patch' }, effect: { type: 'error', status: 500 }, times: 2 })
 * ```
 */
export interface ClusterFaults {
  /** Adds a fault for future requests of operators. */
  add(options: FaultOptions): Fault
  /** Removes all faults. */
  clear(): void
}

/** The requests that operators have sent to the cluster. */
export interface ClusterRequests {
  /** The last requests that match all fields of the filter, oldest first. */
  last(filter?: RequestFilter): readonly RequestRecord[]
  /** The number of requests since the start or the last `clear`, by verb and resource: `{ 'patch widgets.example.com': 2 }`. */
  counts(): Readonly<Record<string, number>>
  /** Forgets all requests so far. */
  clear(): void
}

/** The run options that connect an operator to the cluster. */
type BackendAccess = Pick<RunOptions, 'transport' | 'namespaces'> & { readonly connection?: ConnectionInfo }

export interface ClusterBackend {
  readonly clock: BackendClock
  readonly access: BackendAccess
  /** The default namespace of objects: the first one of `namespaces`. */
  readonly namespace: string
  /** The namespaces of the test: actual names by the names in the option `namespaces`. */
  readonly namespaces: ReadonlyMap<string, string>
  /** The client of the test. The versions in its responses are recorded in `lastSeen`. */
  readonly client: Client
  readonly lastSeen: LastSeen
  /** The session of the test kit itself. Its responses are not recorded in `lastSeen`. */
  readonly session: Session
  /** Finds a resource with discovery. Rejects with `KOPF_RESOURCE` if the cluster does not serve it. */
  resolve(like: ResourceLike): Promise<Resource>
  /** The version of the last write in the cluster. */
  currentVersion(): Promise<string>
  readonly faults: ClusterFaults
  readonly requests: ClusterRequests
  /** The embedded API server. */
  readonly server: ApiServer
  /** A transport to the cluster with the identity of operators. Closed with the cluster. */
  openTransport(): Transport
  /** Changes with every write; undefined on a real cluster, where it cannot be read without a request. */
  readonly version: string | undefined
  /** Default limits of waits: in cluster time (`timeoutMs`) and in real time (`patienceMs`). */
  readonly timeoutMs: number
  readonly patienceMs: number
  /** Runs the work of a test that waits. On the skipping clock, time passes for it. */
  whileWaiting<T>(work: () => Promise<T>): Promise<T>
  /**
   * Lets pending events happen, and resolves to true: the caller checks the state again before time passes. If `isIdle` is true, the caller has just
   * done that: time passes, up to the limit, and the result is false.
   */
  pass(limitMs: number, isIdle: boolean): Promise<boolean>
  /** Access for an operator that authenticates as a service account. */
  accessFor(account: ServiceAccountName): Promise<BackendAccess>
  /** Writes a kubeconfig and returns its path: for an administrator, or for a service account. */
  kubeconfig(account?: ServiceAccountName): Promise<string>
  close(): Promise<void>
}

export function createTestSession(transport: Transport, clock: Clock): Session {
  const { networking } = createSettings()
  return createSession({ transport, networking, clock, userAgent: `kopf-testing/${packageVersion()}` })
}

/** Creates the client of the test and the other means of access of the test kit. */
export function createTestAccess(
  session: Session,
  namespace: string,
): Pick<ClusterBackend, 'client' | 'lastSeen' | 'session' | 'resolve'> {
  const discovery = new DiscoveryCache(() => session, [])
  const resolve = (like: ResourceLike) => discovery.resolve(like)
  const lastSeen = new LastSeen()
  const client = createClient({ session: recordingSession(session, lastSeen), resolve, namespace })
  return { client, lastSeen, session, resolve }
}
