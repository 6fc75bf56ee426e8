/** Validation of probes and lifecycle hooks. Used by containers.ts. */
import { type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { checkCounters, checkOneOf, checkPort, problemsAt } from '../checks.ts'
import type { Container, Probe, ProbeHandler } from './shapes.ts'

const kinds = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const

export function checkProbes(path: string, container: Container): FieldError[] {
  const { livenessProbe, readinessProbe, startupProbe } = container
  const errors = livenessProbe ? checkProbe(`${path}.livenessProbe`, livenessProbe, true) : []
  if (readinessProbe) {
    errors.push(...checkProbe(`${path}.readinessProbe`, readinessProbe, false))
    const period = readinessProbe.terminationGracePeriodSeconds
    const at = `${path}.readinessProbe.terminationGracePeriodSeconds`
    if (period !== undefined) errors.push(invalid(at, period, 'must not be set for readinessProbes'))
  }
  if (startupProbe) errors.push(...checkProbe(`${path}.startupProbe`, startupProbe, true))
  return errors
}

function checkProbe(path: string, probe: Probe, succeedsOnce: boolean): FieldError[] {
  const counters = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold']
  const errors = [...checkHandler(path, probe, undefined), ...checkCounters(path, probe, counters)]
  const period = probe.terminationGracePeriodSeconds
  if (period !== undefined && period <= 0) {
    errors.push(invalid(`${path}.terminationGracePeriodSeconds`, period, 'must be greater than 0'))
  }
  if (succeedsOnce && probe.successThreshold !== 1) {
    errors.push(invalid(`${path}.successThreshold`, probe.successThreshold ?? 0, 'must be 1'))
  }
  return errors
}

export function checkLifecycle(path: string, { lifecycle }: Container, gracePeriod: number | undefined): FieldError[] {
  if (!lifecycle) return []
  return [
    ...(lifecycle.postStart ? checkHandler(`${path}.postStart`, lifecycle.postStart, gracePeriod) : []),
    ...(lifecycle.preStop ? checkHandler(`${path}.preStop`, lifecycle.preStop, gracePeriod) : []),
  ]
}

function checkHandler(path: string, handler: ProbeHandler, gracePeriod: number | undefined): FieldError[] {
  const [first, ...others] = kinds.filter((kind) => handler[kind] !== undefined)
  if (first === undefined) return [required(path, 'must specify a handler type')]
  return [
    ...checkAction(`${path}.${first}`, first, handler, gracePeriod),
    ...others.map((kind) => forbidden(`${path}.${kind}`, 'may not specify more than 1 handler type')),
  ]
}

function checkAction(path: string, kind: string, handler: ProbeHandler, gracePeriod: number | undefined): FieldError[] {
  if (kind === 'exec') return (handler.exec?.command ?? []).length > 0 ? [] : [required(`${path}.command`)]
  if (kind === 'httpGet') return checkHttpGet(path, handler.httpGet!)
  if (kind === 'tcpSocket') return checkPort(`${path}.port`, handler.tcpSocket!.port)
  if (kind === 'grpc') return checkPort(`${path}.port`, handler.grpc!.port)
  const seconds = handler.sleep!.seconds
  if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return []
  return [invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`)]
}

function checkHttpGet(path: string, action: NonNullable<ProbeHandler['httpGet']>): FieldError[] {
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
  const problem = `${rule} (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`
  return [
    ...checkPort(`${path}.port`, action.port),
    ...checkOneOf(`${path}.scheme`, action.scheme, ['HTTP', 'HTTPS']),
    ...(action.httpHeaders ?? []).flatMap(({ name }) =>
      problemsAt(`${path}.httpHeaders`, name, /^[-A-Za-z0-9]+$/.test(name) ? [] : [problem]),
    ),
  ]
}
