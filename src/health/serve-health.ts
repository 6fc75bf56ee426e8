/** The pages of the health endpoint: liveness (results of the probe handlers) and readiness. Started and closed by run.ts. */
import { KopfError } from '../errors.ts'
import { formatEndpointAddress, type ServingAddress } from '../serving/address.ts'
import {
  type Endpoint,
  type EndpointAnswer,
  findReadError,
  pathOf,
  respond,
  startEndpoint,
  toError,
} from '../serving/endpoint.ts'
import type { Logger } from '../util/log/log.ts'
import { parseHealthAddress, readinessPath } from './address.ts'
import type { Health } from './health.ts'

/** The result of the probe handlers. */
interface ProbesReport {
  report(): Promise<{ readonly isHealthy: boolean; readonly text: string }>
}

export interface HealthSources {
  readonly probes: ProbesReport
  readonly health: Health
  readonly logger: Logger
}

export function readHealthAddress(text: string): ServingAddress {
  return parseHealthAddress(text, (why) => {
    throw new KopfError('KOPF_LIVENESS', `Cannot serve health probes at "${text}": ${why}`)
  })
}

/** There is no authentication, so the endpoint serves nothing but these two pages. */
export async function serveHealth(
  address: ServingAddress,
  { probes, health, logger }: HealthSources,
): Promise<Endpoint> {
  const liveness = async (): Promise<EndpointAnswer> => {
    const { isHealthy, text } = await probes.report()
    return { status: isHealthy ? 200 : 500, body: text }
  }
  const readiness = (): EndpointAnswer => {
    const report = health.readiness()
    return { status: report.ready ? 200 : 503, body: JSON.stringify(report) }
  }
  const pages = new Map<string, () => EndpointAnswer | Promise<EndpointAnswer>>([
    [address.path, liveness],
    [readinessPath, readiness],
  ])
  const endpoint = await startEndpoint({
    address,
    name: 'health probes',
    code: 'KOPF_LIVENESS',
    onRequest: async (request, response) => {
      const page = pages.get(pathOf(request))
      const error = page === undefined ? toError(404, 'not found') : findReadError(request)
      respond(request, response, error ?? (await page!()))
    },
  })
  logger.debug(`Serving health status at ${formatEndpointAddress(endpoint.address)}`)
  return endpoint
}
