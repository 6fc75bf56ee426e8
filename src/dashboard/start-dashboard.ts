/**
 * Starts the dashboard of a run: listens to its events, and serves the page and the API at an address. Loaded by run/run.ts only if the dashboard is on. Nothing of
 * it slows the operator down or delays its stop.
 */
import { KopfError } from '../errors.ts'
import { ObjectStates } from '../metrics/object-states.ts'
import type { Observer } from '../observer.ts'
import { AccessReviews } from '../serving/access-reviews.ts'
import { formatEndpointAddress, isLoopbackHost, type ServingAddress } from '../serving/address.ts'
import { serveCertificates } from '../serving/certificates.ts'
import { type Endpoint, startEndpoint } from '../serving/endpoint.ts'
import { monotonicNow, systemClock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import type { LogRecord } from '../util/log/log.ts'
import { LoginCodes } from './http/logins.ts'
import { DashboardServer, type PageAsset } from './http/server.ts'
import { LogLines } from './log-lines.ts'
import { ObjectRecords } from './object-facts.ts'
import type { Sample } from './protocol.ts'
import type { RunFacts } from './run-facts.ts'
import { Statistics } from './statistics.ts'
import { DashboardObjects } from './views/source.ts'

export interface DashboardOptions {
  readonly run: RunFacts
  readonly address: ServingAddress
  readonly certFile: string | null
  readonly keyFile: string | null
  readonly readAsset: (path: string) => PageAsset | undefined
  /** Adds a listener to the events of the run. */
  readonly observe: (listener: Observer) => void
  /** Passes the log lines of the run on. */
  readonly tapLog: (listener: (record: LogRecord) => void) => void
}

/** A dashboard that is served. */
export interface Dashboard {
  /** The address, with the actual port. */
  readonly address: ServingAddress
  /** An address that logs in a developer on this machine, once; undefined if other machines can connect. */
  createLoginUrl(): string | undefined
  close(): Promise<void>
}

/** A browser opens six connections, and a stream occupies one as long as the page is open. Behind a proxy, all have one address. */
const limits = {
  maxConnections: 512,
  maxPerAddress: 448,
  maxHeaderBytes: 16_384,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 30_000,
}

const sampleMs = 5000
const maxSamples = 120

export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { run, address, readAsset } = options
  const { clock, logger, signal } = run
  const ending = new AbortController()
  const any = AbortSignal.any([signal, ending.signal])
  const source = createSource(options)
  const history: Sample[] = source.samples
  const isLocal = isLoopbackHost(address.host)
  const codes = isLocal ? new LoginCodes(clock) : undefined
  const reviews = new AccessReviews({ session: run.session, clock, signal })
  let endpoint: Endpoint | undefined
  const server = new DashboardServer({
    source: source.view,
    clock,
    reviews,
    codes,
    readAsset,
    address: () => endpoint?.address ?? address,
    signal: any,
  })
  endpoint = await startEndpoint({
    address,
    name: 'the dashboard',
    code: 'KOPF_DASHBOARD',
    limits,
    ...(address.scheme === 'https' && {
      certificates: (until: AbortSignal) => serveCertificates(toCertificateOptions(options), until),
    }),
    onRequest: (request, response) => server.handle(request, response),
    onError: (error) => logger.warn(`The dashboard could not answer a request: ${describeError(error)}`, { error }),
  })
  void takeSamples(source, history, any)
  return {
    address: endpoint.address,
    createLoginUrl: () => codes && `${formatEndpointAddress(endpoint.address)}#code=${codes.create()}`,
    async close() {
      ending.abort()
      server.close()
      await endpoint.close()
    },
  }
}

function toCertificateOptions({
  run,
  address,
  certFile,
  keyFile,
}: DashboardOptions): Parameters<typeof serveCertificates>[0] {
  const fail = (why: string, cause?: unknown): never => {
    throw new KopfError('KOPF_DASHBOARD', `Cannot serve the dashboard at ${formatEndpointAddress(address)}: ${why}`, {
      cause,
    })
  }
  return { certFile, keyFile, name: 'the dashboard', host: address.host, clock: run.clock, logger: run.logger, fail }
}

interface DashboardSource {
  readonly view: ConstructorParameters<typeof DashboardServer>[0]['source']
  readonly samples: Sample[]
}

function createSource({ run, observe, tapLog }: DashboardOptions): DashboardSource {
  const { clock } = run
  const objects = new DashboardObjects(run.context)
  const bodyOf: DashboardObjects['bodyOf'] = (object) => objects.bodyOf(object)
  const statistics = new Statistics({ clock, bodyOf })
  const facts = new ObjectRecords({ clock, bodyOf })
  const logs = new LogLines({ clock, bodyOf, resourceOf: (apiVersion, kind) => objects.resourceOf(apiVersion, kind) })
  const states = new ObjectStates({
    nowMs: () => monotonicNow(clock),
    onHandled: (object) => facts.settled(object),
  })
  observe(facts.listener)
  observe(states.listener)
  observe(statistics.listener)
  tapLog(logs.add)
  const samples: Sample[] = []
  return {
    samples,
    view: { run, statistics, facts, states, logs, objects, startedAtMs: clock.now(), history: () => [...samples] },
  }
}

async function takeSamples({ view }: DashboardSource, samples: Sample[], signal: AbortSignal): Promise<void> {
  while (await sleepInBackground(signal)) {
    const { run, statistics } = view
    const queue = run.context()?.queue.waiting ?? 0
    samples.push(statistics.sample({ queue, lagMs: Math.round(run.watchdog.lagMs) }))
    if (samples.length > maxSamples) samples.shift()
  }
}

async function sleepInBackground(signal: AbortSignal): Promise<boolean> {
  await systemClock.sleep(sampleMs, signal, { isBackground: true }).catch(() => {})
  return !signal.aborted
}
