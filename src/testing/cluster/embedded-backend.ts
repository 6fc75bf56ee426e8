/** The backend for the embedded API server: in this process, without a socket, by default on a clock that skips time. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, type ApiServerOptions } from '../../server/api-server.ts'
import type { ServiceAccountName } from '../../server/identity/long-tokens.ts'
import { accountUsername } from '../../server/identity/service-accounts.ts'
import { type RunningServer, startServer } from '../../server/start.ts'
import { systemClock } from '../../util/async/clock.ts'
import type { Transport } from '../../util/transport.ts'
import { maxChangedTurns, untilIdle } from '../skipping-clock.ts'
import {
  type ClusterBackend,
  type ClusterFaults,
  type ClusterRequests,
  createTestAccess,
  createTestSession,
} from './backend.ts'
import { type ClockMode, EmbeddedClock, type EmbeddedClockOptions, RealClock } from './cluster-clock.ts'
import { trackTraffic } from './tracked-traffic.ts'

/** The user as which operators authenticate, so that faults and request records can distinguish them from the test. */
const operator = { username: 'operator', groups: ['system:masters', 'system:authenticated'] }

/** Real time to wait for a user function while faults are active. */
const faultyPatienceMs = 25

const hourMs = 3_600_000
/** Real-time limit of waits. It is shorter than the timeout of test runners, so that the test fails with the message of the wait. */
const maxWaitMs = 4000
const pollMs = 5

export interface EmbeddedBackendOptions extends Pick<ApiServerOptions, 'authorization' | 'controllers'> {
  readonly clock: ClockMode
  /** Namespaces to which operators are limited; undefined for all. */
  readonly namespaces: readonly string[] | undefined
}

export async function openEmbedded({ clock, namespaces, ...options }: EmbeddedBackendOptions): Promise<ClusterBackend> {
  let isFaulty = false
  const isDeterministic = clock === 'deterministic'
  const maxPatienceMs = () => (isDeterministic ? 0 : isFaulty ? faultyPatienceMs : Infinity)
  const timing =
    clock === 'real'
      ? createRealTiming()
      : createSkippingTiming({ isOccupied: () => server.webhookCalls > 0, maxPatienceMs, isDeterministic })
  const server = new ApiServer({ ...options, clock: timing.clock })
  const token = randomBytes(16).toString('hex')
  server.addToken(token, operator)
  const operators = [operator.username]
  const faults: ClusterFaults = {
    add(options) {
      isFaulty = true
      return server.faults.add({ ...options, on: { user: operators, ...options.on } })
    },
    clear() {
      isFaulty = false
      server.faults.clear()
    },
  }
  const kubeconfigs = new KubeconfigServer(server)
  const transport = timing.wrap(server)
  const names = namespaces ?? ['default']
  const namespace = names[0] ?? 'default'
  const access = createTestAccess(createTestSession(transport, timing.clock), namespace)
  const scope = namespaces === undefined ? {} : { namespaces }
  for (const name of names) if (name !== 'default') await access.client.create('namespaces', { metadata: { name } })
  const operatorTransport = withToken(transport, token)
  return {
    ...timing,
    access: { transport: operatorTransport, ...scope },
    namespace,
    namespaces: new Map(names.map((name) => [name, name])),
    ...access,
    currentVersion: async () => server.version,
    faults,
    requests: new Requests(server, operators),
    server,
    openTransport: () => operatorTransport,
    get version() {
      return server.version
    },
    async accessFor(account) {
      const { serviceAccount: name, namespace = 'default' } = account
      operators.push(accountUsername({ namespace, name }))
      return { transport: withToken(transport, server.issueToken(account)), ...scope }
    },
    kubeconfig: (account) => kubeconfigs.open(account),
    async close() {
      await kubeconfigs.close()
      await server.close()
    },
  }
}

interface Timing extends Pick<ClusterBackend, 'clock' | 'timeoutMs' | 'patienceMs' | 'whileWaiting' | 'pass'> {
  /** Wraps the transport to the server, so that the clock notices the requests. */
  wrap(transport: Transport): Transport
}

function createSkippingTiming(options: EmbeddedClockOptions): Timing {
  const clock = new EmbeddedClock(options)
  return {
    clock,
    timeoutMs: hourMs,
    patienceMs: maxWaitMs,
    whileWaiting: (work) => clock.whileWaiting(work),
    async pass(limitMs, isIdle) {
      if (!isIdle) {
        await untilIdle(clock, maxChangedTurns)
        return true
      }
      if (await clock.pass(limitMs)) return false
      clock.set(limitMs)
      await systemClock.sleep(1)
      return false
    },
    wrap: (transport) => trackTraffic(transport, clock, clock.writes),
  }
}

function createRealTiming(): Timing {
  return {
    clock: new RealClock(),
    timeoutMs: maxWaitMs,
    patienceMs: Infinity,
    whileWaiting: (work) => work(),
    async pass() {
      await systemClock.sleep(pollMs)
      return true
    },
    wrap: (transport) => transport,
  }
}

/** Adds the token of an operator to requests, so that faults and request records can distinguish operators from the test. */
function withToken(transport: Transport, token: string): Transport {
  return {
    send: (request, signal) =>
      transport.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }, signal),
  }
}

class Requests implements ClusterRequests {
  readonly #server: ApiServer

  /** User names of operators. `Cluster.as` adds more. */
  readonly #operators: readonly string[]

  constructor(server: ApiServer, operators: readonly string[]) {
    this.#server = server
    this.#operators = operators
  }

  last: ClusterRequests['last'] = (filter = {}) =>
    this.#server.requests.last(filter).filter(({ user }) => filter.user !== undefined || this.#operators.includes(user))

  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const { verb, resource, subresource, path } of this.last()) {
      const subject = subresource === '' ? resource : `${resource}/${subresource}`
      const key = `${verb} ${subject || path.split('?')[0]}`
      counts[key] = (counts[key] ?? 0) + 1
    }
    return counts
  }

  clear(): void {
    this.#server.requests.clear()
  }
}

/**
 * Serves the embedded API on a port for other processes, and writes kubeconfigs for them. The port is opened with the first
 * kubeconfig.
 */
class KubeconfigServer {
  readonly #server: ApiServer
  #opened: Promise<{ readonly running: RunningServer; readonly folder: string }> | undefined

  constructor(server: ApiServer) {
    this.#server = server
  }

  async open(account?: ServiceAccountName): Promise<string> {
    this.#opened ??= this.#open()
    const { running, folder } = await this.#opened
    if (account === undefined) return join(folder, 'kubeconfig')
    const path = join(folder, `${account.namespace}.${account.serviceAccount}.kubeconfig`)
    await writeFile(path, await running.kubeconfigFor(account), { mode: 0o600 })
    return path
  }

  async close(): Promise<void> {
    const opened = await this.#opened
    if (opened === undefined) return
    await rm(opened.folder, { recursive: true, force: true })
    await opened.running.stop()
  }

  async #open() {
    const running = await startServer({ api: this.#server })
    const folder = await mkdtemp(join(tmpdir(), 'kopf-testing-'))
    await writeFile(join(folder, 'kubeconfig'), running.kubeconfig, { mode: 0o600 })
    return { running, folder }
  }
}
