/** The backend for a real cluster: each test cluster gets its own namespaces, and time passes in real time. */
import { randomBytes } from 'node:crypto'
import { isNotFound } from '../../client/api-error.ts'
import { ConnectionInfo } from '../../client/auth/connection-info.ts'
import { loginWithKubeconfig } from '../../client/auth/kubeconfig.ts'
import { loginWithServiceAccount } from '../../client/auth/service-account.ts'
import { createHttpsTransport, type HttpsTransport } from '../../client/http/transport.ts'
import type { Session } from '../../client/session.ts'
import { KopfError, LoginError } from '../../errors.ts'
import type { ServiceAccountName } from '../../server/identity/long-tokens.ts'
import { systemClock } from '../../util/async/clock.ts'
import { type ClusterBackend, createTestAccess, createTestSession } from './backend.ts'
import { RealClock } from './cluster-clock.ts'

const pollMs = 20
const maxWaitMs = 60_000

/** Creates the namespaces of the test with generated names, because several tests may run on the cluster at the same time. */
export async function openReal(
  given: ConnectionInfo | true,
  names: readonly string[] | undefined,
): Promise<ClusterBackend> {
  const connection = given === true ? await login() : given
  const transport = createHttpsTransport(connection)
  // Apart from the transport of the test: operators must not take connections from the waits.
  let operatorTransport: HttpsTransport | undefined
  const clock = new RealClock()
  const id = `kopf-test-${randomBytes(4).toString('hex')}`
  const namespaces = new Map(names?.map((name) => [name, `${id}-${name}`]) ?? [[id, id]])
  const all = [...namespaces.values()]
  const namespace = all[0] ?? id
  const session = createTestSession(transport, clock)
  const access = createTestAccess(session, namespace)
  const { client } = access
  const backend: ClusterBackend = {
    clock,
    access: { connection, namespaces: all },
    ...access,
    namespace,
    namespaces,
    currentVersion: () => readVersion(session, namespace),
    get faults() {
      return refuse('faults')
    },
    get requests() {
      return refuse('requests')
    },
    get server() {
      return refuse('server')
    },
    openTransport: () => (operatorTransport ??= createHttpsTransport(connection)),
    version: undefined,
    timeoutMs: maxWaitMs,
    patienceMs: Infinity,
    whileWaiting: (work) => work(),
    async pass() {
      await systemClock.sleep(pollMs)
      return true
    },
    accessFor: async (account) => ({
      connection: await loginAs(session, connection, account),
      namespaces: all,
    }),
    kubeconfig: async (account) => refuse(account === undefined ? 'kubeconfig()' : 'kubeconfigFor()'),
    async close() {
      for (const name of all) await client.delete('namespaces', name).catch(ignoreNotFound)
      await operatorTransport?.close()
      await transport.close()
    },
  }
  try {
    for (const name of all) await client.create('namespaces', { metadata: { name } })
    return backend
  } catch (error) {
    await backend.close()
    throw error
  }
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error
}

/** Reads the current resource version from a list. Every list has the version of the whole storage, also an empty one. */
async function readVersion(session: Session, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const response = await session.request({ method: 'GET', path, query: { limit: 1 } })
  return (response['metadata'] as { resourceVersion: string }).resourceVersion
}

/** Requests a token for the service account. The default lifetime of one hour is longer than any test. */
async function loginAs(session: Session, admin: ConnectionInfo, account: ServiceAccountName): Promise<ConnectionInfo> {
  const { serviceAccount: name, namespace = 'default' } = account
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const response = await session.request({ method: 'POST', path, body: {} })
  const { token } = response['status'] as { token: string }
  const { server, caData, caPath, insecure, tlsServerName, proxyUrl } = admin.reveal()
  return new ConnectionInfo({ server, caData, caPath, insecure, tlsServerName, proxyUrl, token })
}

async function login(): Promise<ConnectionInfo> {
  const found = loginWithServiceAccount() ?? (await loginWithKubeconfig())
  if (found !== undefined) return found
  throw new LoginError('Cannot test on a real cluster: there is neither a kubeconfig nor the service account of a pod')
}

function refuse(what: string): never {
  throw new KopfError(
    'KOPF_CLUSTER_REAL',
    `Cannot use cluster.${what} on a real cluster: only the embedded one can do that; leave such tests out where \`real\` is set`,
  )
}
