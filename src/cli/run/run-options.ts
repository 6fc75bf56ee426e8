/**
 * The options of a run that `kopf run` and the programs of `kopf build` share: flags, environment variables, and their checks. Options about
 * files and the embedded server are in commands/run.ts.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseHealthAddress } from '../../health/address.ts'
import type { Operator, RunOptions } from '../../operator.ts'
import { metricsDefaults, parseEndpointAddress } from '../../serving/address.ts'
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
  return new Option('--metrics [address]', description).preset(defaultMetrics).argParser((text): string | null => {
    // As in environment variables of flags.
    if (/^(true|yes|on)$/i.test(text)) return defaultMetrics
    if (/^(false|no|off)$/i.test(text)) return null
    if (/\.[cm]?[jt]sx?$/i.test(text)) {
      throw new InvalidArgumentError('Expected an address. Put the files before --metrics, or write --metrics=:8443.')
    }
    parseEndpointAddress(text, {
      ...metricsDefaults,
      fail: (why) => {
        throw new InvalidArgumentError(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`)
      },
    })
    return text
  })
}

/** Sets the settings for which there are options. Called before the operator starts; startup handlers can still change them. */
export function applyRunSettings({ settings }: Operator, args: RunArguments): void {
  const { metrics, metricsPlainHttp, metricsCert, metricsKey, gracePeriod } = args
  if (gracePeriod !== undefined) settings.process.gracePeriod = gracePeriod
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
