/** The pages of the health endpoint: what the probes say, and whether the operator is ready. Started and closed by run.ts. */

import { KopfError } from '../errors.ts'
import type { Probes } from '../features/activities/probes.ts'
import { type Endpoint, type Page, startEndpoint } from '../features/health/endpoint.ts'
import { formatHealthAddress, type HealthAddress, parseHealthAddress, readinessPath } from '../util/health-address.ts'
import type { Logger } from '../util/log.ts'
import type { Health } from './health.ts'

export interface HealthSources {
  readonly probes: Probes
  readonly health: Health
  readonly logger: Logger
}

export function readHealthAddress(text: string): HealthAddress {
  return parseHealthAddress(text, (why) => {
    throw new KopfError('KOPF_LIVENESS', `Cannot serve the health at "${text}": ${why}`)
  })
}

export async function serveHealth(
  address: HealthAddress,
  { probes, health, logger }: HealthSources,
): Promise<Endpoint> {
  const liveness = async (): Promise<Page> => {
    const { isHealthy, text } = await probes.report()
    return { status: isHealthy ? 200 : 500, body: text }
  }
  const readiness = (): Page => {
    const report = health.readiness()
    return { status: report.ready ? 200 : 503, body: JSON.stringify(report) }
  }
  const pages = new Map<string, () => Page | Promise<Page>>([
    [address.path, liveness],
    [readinessPath, readiness],
  ])
  const endpoint = await startEndpoint(address, pages)
  logger.debug(`Serving health status at ${formatHealthAddress(endpoint.address)}`)
  return endpoint
}
