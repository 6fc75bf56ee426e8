/** Where a test cluster is: what is different between the embedded server and a real cluster. */

import type { Session } from '../client/calls.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/client.ts'
import type { ConnectionInfo } from '../client/credentials.ts'
import { createSession } from '../client/session.ts'
import { createSettings } from '../core/settings.ts'
import type { Resource, ResourceLike } from '../kube/resources.ts'
import type { RunOptions } from '../operator.ts'
import { Insights } from '../running/insights.ts'
import type { Fault, FaultOptions } from '../server/faults.ts'
import type { ServiceAccountName } from '../server/identity/long-tokens.ts'
import type { RequestFilter, RequestRecord } from '../server/request-log.ts'
import type { Clock } from '../util/clock.ts'
import type { Transport } from '../util/transport.ts'
import { packageVersion } from '../util/version.ts'
import type { SiteClock } from './cluster-clock.ts'
import { LastSeen, notingSession } from './last-seen.ts'

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
type Access = Pick<RunOptions, 'transport' | 'namespaces'> & { readonly connection?: ConnectionInfo }

export interface Site {
  readonly clock: SiteClock
  readonly access: Access
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
  /** Changes with everything that is written; undefined where nobody can tell. */
  readonly version: string | undefined
  /** How long a test waits unless told: by the clock of the cluster, and by that of this machine. */
  readonly timeoutMs: number
  readonly patienceMs: number
  /** Time passes for it while the work lasts. */
  waited<T>(work: () => Promise<T>): Promise<T>
  /** Lets something happen, and time pass, but not beyond the limit. */
  pass(limitMs: number): Promise<void>
  /** The same for an operator that is this service account. */
  accessFor(account: ServiceAccountName): Promise<Access>
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
): Pick<Site, 'client' | 'lastSeen' | 'session' | 'resolve'> {
  const insights = new Insights(() => session, [])
  const resolve = (like: ResourceLike) => insights.resolve(like)
  const lastSeen = new LastSeen()
  const client = createClient({ session: notingSession(session, lastSeen), resolve, namespace })
  return { client, lastSeen, session, resolve }
}
