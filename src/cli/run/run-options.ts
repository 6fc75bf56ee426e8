/**
 * The options of a run that `kopf run` and the programs of `kopf build` share: flags, environment variables, and their checks. Options about
 * files and the embedded server are in commands/run.ts.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isInPod } from '../../client/auth/service-account.ts'
import { parseHealthAddress } from '../../health/address.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { dashboardDefaults, metricsDefaults, parseEndpointAddress } from '../../serving/address.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { Variable } from '../environment.ts'
import { gracePeriodOption } from '../exit.ts'
import type { ClusterArguments } from '../options/cluster.ts'
import { frameworkLevelVariable, type LoggingArguments, loggingVariables } from '../options/logging.ts'
import { addScopeOptions, readScope, type ScopeArguments, scopeVariables } from '../options/namespaces.ts'
import {
  addPrecedenceOptions,
  developerPriority,
  type PrecedenceArguments,
  readPrecedence,
} from '../options/peering.ts'

export interface RunArguments extends LoggingArguments, ScopeArguments, PrecedenceArguments, ClusterArguments {
  readonly liveness?: string
  /** Null: off, also if the settings of the operator have an address. */
  readonly dashboard?: string | null
  readonly metrics?: string | null
  readonly metricsPlainHttp?: boolean
  readonly metricsCert?: string
  readonly metricsKey?: string
  readonly gracePeriod?: Duration
}

export const runVariables: readonly Variable[] = [
  ...scopeVariables,
  { name: 'STANDALONE', type: 'flag', option: 'standalone' },
  { name: 'DEV', type: 'flag', option: 'dev' },
  { name: 'PEERING', type: 'text', option: 'peering' },
  { name: 'PRIORITY', type: 'text', option: 'priority' },
  { name: 'LIVENESS_ENDPOINT', type: 'text', option: 'liveness' },
  { name: 'DASHBOARD', type: 'text', option: 'dashboard' },
  { name: 'METRICS', type: 'text', option: 'metrics' },
  { name: 'METRICS_PLAIN_HTTP', type: 'flag', option: 'metricsPlainHttp' },
  { name: 'METRICS_CERT', type: 'text', option: 'metricsCert' },
  { name: 'METRICS_KEY', type: 'text', option: 'metricsKey' },
  { name: 'GRACE_PERIOD', type: 'text', option: 'gracePeriod' },
  ...loggingVariables,
  frameworkLevelVariable,
]

/** Adds the options of scope, peering, health and the stop. The callers add those of the cluster, whose texts differ, and of the log. */
export function addRunOptions(command: Command): Command {
  addScopeOptions(command)
  return addPrecedenceOptions(command)
    .option(
      '--dev',
      `run with --priority ${developerPriority}, which pauses the deployed operators of the peering; for development`,
    )
    .optionsGroup('Health:')
    .option(
      '-L, --liveness <url>',
      'serve health probes at this URL, such as http://0.0.0.0:8080/healthz, and readiness at /readyz',
    )
    .optionsGroup('Dashboard:')
    .addOption(dashboardOption())
    .optionsGroup('Metrics:')
    .addOption(metricsOption())
    .option('--metrics-plain-http', 'allow plain HTTP without authentication on other addresses than localhost')
    .option('--metrics-cert <file>', 'the certificate for HTTPS, in PEM (default: self-signed)')
    .option('--metrics-key <file>', 'the private key of the certificate, in PEM')
    .optionsGroup('Stop:')
    .addOption(gracePeriodOption())
}

const defaultMetrics = 'https://0.0.0.0:8443/metrics'

function metricsOption(): Option {
  const description = `serve metrics for Prometheus at this address: :8443, localhost:8080, or a URL (default: ${defaultMetrics})`
  return new Option('--metrics [address]', description).preset('on').argParser((text) => readAddress(text, 'metrics'))
}

/** The address of an endpoint; null if it is switched off. */
function readAddress(text: string, option: 'metrics' | 'dashboard'): string | null {
  // As in environment variables of flags.
  if (/^(true|yes|on)$/i.test(text)) return option === 'metrics' ? defaultMetrics : defaultDashboard()
  if (/^(false|no|off)$/i.test(text)) return null
  if (/\.[cm]?[jt]sx?$/i.test(text)) {
    throw new InvalidArgumentError(`Expected an address. Put the files before --${option}, or write --${option}=:8443.`)
  }
  parseEndpointAddress(text, {
    ...(option === 'metrics' ? metricsDefaults : dashboardDefaults),
    fail: (why) => {
      throw new InvalidArgumentError(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`)
    },
  })
  return text
}

/** In a pod, the dashboard is reached through the API server or a Service; on the machine of a developer, only from there. */
function defaultDashboard(): string {
  return isInPod() ? 'https://0.0.0.0:8444' : 'http://127.0.0.1:8444'
}

function dashboardOption(): Option {
  const description =
    'serve a dashboard for browsers at this address: :8444, localhost:8444, or a URL (default: http://127.0.0.1:8444; in a pod https://0.0.0.0:8444)'
  return new Option('--dashboard [address]', description)
    .preset('on')
    .argParser((text) => readAddress(text, 'dashboard'))
}

/** Sets the settings for which there are options. Called before the operator starts; startup handlers can still change them. */
export function applyRunSettings({ settings }: Operator, args: RunArguments): void {
  const { dashboard, metrics, metricsPlainHttp, metricsCert, metricsKey, gracePeriod } = args
  if (gracePeriod !== undefined) settings.process.gracePeriod = gracePeriod
  if (dashboard !== undefined) settings.dashboard.address = dashboard
  if (metrics !== undefined) settings.metrics.address = metrics
  if (metricsPlainHttp !== undefined) settings.metrics.plainHttp = metricsPlainHttp
  if (metricsCert !== undefined) settings.metrics.certFile = metricsCert
  if (metricsKey !== undefined) settings.metrics.keyFile = metricsKey
}

/** Reads the options of the operator's run. Fails with a usage error if they cannot be used. */
export function readRunOptions(command: Command, args: RunArguments): RunOptions {
  const { liveness, logFrameworkLevel } = args
  const options = { ...readScope(command, args), ...readPrecedence(command, args) }
  if (liveness !== undefined) {
    parseHealthAddress(liveness, (why) =>
      command.error(`error: option '--liveness <url>' argument '${liveness}' is invalid: ${why}.`),
    )
  }
  return {
    ...options,
    ...(liveness === undefined ? {} : { livenessEndpoint: liveness }),
    ...(logFrameworkLevel && { frameworkLogLevel: logFrameworkLevel }),
  }
}
