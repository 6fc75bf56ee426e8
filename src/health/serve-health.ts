/** The pages of the health endpoint: liveness (results of the probe handlers) and readiness. Started and closed by run.ts. */

import { KopfError } from '../errors.ts'
import type { Logger } from '../util/log/log.ts'
import { formatHealthAddress, type HealthAddress, parseHealthAddress, readinessPath } from './address.ts'
import { type HealthEndpoint, type HealthPage, startEndpoint } from './endpoint.ts'
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

export function readHealthAddress(text: string): HealthAddress {
  return parseHealthAddress(text, (why) => {
    throw new KopfError('KOPF_LIVENESS', `Cannot serve health probes at "${text}": ${why}`)
  })
}

export async function serveHealth(
  address: HealthAddress,
  { probes, health, logger }: HealthSources,
): Promise<HealthEndpoint> {
  const liveness = async (): Promise<HealthPage> => {
    const { isHealthy, text } = await probes.report()
    return { status: isHealthy ? 200 : 500, body: text }
  }
  const readiness = (): HealthPage => {
    const report = health.readiness()
    return { status: report.ready ? 200 : 503, body: JSON.stringify(report) }
  }
  const pages = new Map<string, () => HealthPage | Promise<HealthPage>>([
    [address.path, liveness],
    [readinessPath, readiness],
  ])
  const endpoint = await startEndpoint(address, pages)
  logger.debug(`Serving health status at ${formatHealthAddress(endpoint.address)}`)
  return endpoint
}
