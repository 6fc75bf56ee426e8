/**
 * The metrics endpoint: over HTTPS for users that the API server knows and allows, over plain HTTP on loopback only, unless a setting allows it
 * elsewhere. Limits what scrapers may cost. Started and closed by run.ts; the metrics are written by registry.ts.
 */
import type { IncomingMessage } from 'node:http'
import type { Session } from '../client/session.ts'
import { KopfError } from '../errors.ts'
import { AccessReviewError, AccessReviews, readBearerToken } from '../serving/access-reviews.ts'
import {
  formatEndpointAddress,
  isLoopbackHost,
  metricsDefaults,
  parseEndpointAddress,
  type ServingAddress,
} from '../serving/address.ts'
import { serveCertificates } from '../serving/certificates.ts'
import {
  type Endpoint,
  type EndpointAnswer,
  findReadError,
  pathOf,
  respond,
  startEndpoint,
  toError,
} from '../serving/endpoint.ts'
import type { Settings } from '../settings/settings.ts'
import { type Clock, systemClock } from '../util/async/clock.ts'
import { describeError } from '../util/log/describe-error.ts'
import { LimitedWarnings } from '../util/log/limited-warnings.ts'
import type { Logger } from '../util/log/log.ts'
import { Renderings } from './renderings.ts'

/** Writes the metrics: the registry of the operator. */
export interface MetricsSource {
  /** `accept`: the header of the request. */
  render(accept: string | undefined): Promise<{ readonly contentType: string; readonly body: string | Uint8Array }>
}

/** The settings of an endpoint that is served. */
type MetricsEndpointSettings = Pick<Settings['metrics'], 'plainHttp' | 'certFile' | 'keyFile'> & {
  readonly address: string
}

export interface MetricsSources {
  /** With an address. */
  readonly settings: MetricsEndpointSettings
  readonly metrics: MetricsSource
  /** For the reviews of clients. Every replica serves metrics, so that a candidate may send these requests. */
  readonly session: () => Session
  readonly clock: Clock
  readonly logger: Logger
  /** Aborted when the operator ends. */
  readonly signal: AbortSignal
}

export async function serveMetrics(sources: MetricsSources): Promise<Endpoint> {
  const { settings, clock, logger } = sources
  const address = readMetricsAddress(settings.address)
  checkPlainHttp(address, settings)
  const server = new MetricsServer(address, sources)
  const { certFile, keyFile } = settings
  const endpoint = await startEndpoint({
    address,
    name: 'metrics',
    code: 'KOPF_METRICS_ENDPOINT',
    certificates: (signal) =>
      serveCertificates(
        { certFile, keyFile, host: address.host, name: 'metrics', clock, logger, fail: failFiles },
        signal,
      ),
    onRequest: async (request, response) => respond(request, response, await server.answer(request)),
    onError: (error) => server.warn(`A request for metrics has failed: ${describeError(error)}`),
  })
  logger.info(
    `Serving metrics at ${formatEndpointAddress(endpoint.address)}${address.scheme === 'https' ? '' : ', without authentication'}.`,
  )
  return endpoint
}

function readMetricsAddress(text: string): ServingAddress {
  return parseEndpointAddress(text, { ...metricsDefaults, fail: (why) => fail(`at "${text}": ${why}`) })
}

function fail(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_METRICS_ENDPOINT', `Cannot serve metrics ${why}`, { cause })
}

function failFiles(why: string, cause?: unknown): never {
  return fail(`over HTTPS: ${why}`, cause)
}

function checkPlainHttp(address: ServingAddress, { plainHttp }: MetricsEndpointSettings): void {
  if (address.scheme === 'https' || plainHttp || isLoopbackHost(address.host)) return
  fail(
    `at ${formatEndpointAddress(address)}: over plain HTTP, every program that reaches the port could read them; use https, listen on localhost, ` +
      'or allow it with --metrics-plain-http (settings.metrics.plainHttp)',
  )
}

class MetricsServer {
  readonly #address: ServingAddress
  readonly #renderings: Renderings
  readonly #warnings: LimitedWarnings
  /** Undefined over plain HTTP, where a token could be read by others. */
  readonly #reviews: AccessReviews | undefined

  constructor(address: ServingAddress, { metrics, session, clock, logger, signal }: MetricsSources) {
    this.#address = address
    // Rendering takes real time, also if the clock of the operator skips time in tests.
    this.#renderings = new Renderings(metrics, { clock: systemClock, signal })
    this.#warnings = new LimitedWarnings(clock, logger)
    this.#reviews = address.scheme === 'https' ? new AccessReviews({ session, clock, signal }) : undefined
  }

  warn(text: string): void {
    this.#warnings.warn(text)
  }

  async answer(request: IncomingMessage): Promise<EndpointAnswer> {
    if (pathOf(request) !== this.#address.path) return toError(404, 'not found')
    const refused = findReadError(request) ?? (await this.#findAccessError(request))
    if (refused !== undefined) return refused
    return { status: 200, ...(await this.#renderings.render(request.headers.accept)) }
  }

  async #findAccessError(request: IncomingMessage): Promise<EndpointAnswer | undefined> {
    if (this.#reviews === undefined) return undefined
    const token = readBearerToken(request.headers.authorization)
    try {
      const user = token === undefined ? undefined : await this.#reviews.authenticate(token)
      if (user === undefined) return unauthorized
      const attributes = { path: this.#address.path, verb: request.method!.toLowerCase() }
      if (await this.#reviews.isAllowed(user, attributes)) return undefined
      return toError(
        403,
        `the user "${user.name}" may not ${attributes.verb} ${attributes.path}; bind it to a ClusterRole with nonResourceURLs: ["${attributes.path}"], verbs: [${attributes.verb}]`,
      )
    } catch (error) {
      if (!(error instanceof AccessReviewError)) throw error
      this.warn(error.message)
      return toError(error.status, reviewErrors[error.status])
    }
  }
}

const unauthorized = toError(401, 'the bearer token is missing, expired or not accepted by the API server', {
  'www-authenticate': 'Bearer',
})

/** Clients are not authenticated at this point, so that they get no details. The log has them. */
const reviewErrors: Readonly<Record<AccessReviewError['status'], string>> = {
  500: 'the access cannot be checked; the log of the operator says why',
  503: 'the access cannot be checked, since the API server does not answer the operator; try again later',
}
