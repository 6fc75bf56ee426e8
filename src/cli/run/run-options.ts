/**
 * The options of a run that `kopf run` and the programs of `kopf build` share: flags, environment variables, and their checks. Options about
 * files and the embedded server are in commands/run.ts.
 */
import type { Command } from 'commander'
import { parseHealthAddress } from '../../health/address.ts'
import type { RunOptions } from '../../operator.ts'
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
  readonly gracePeriod?: Duration
}

export const runVariables: readonly Variable[] = [
  ...scopeVariables,
  { name: 'STANDALONE', type: 'flag', option: 'standalone' },
  { name: 'DEV', type: 'flag', option: 'dev' },
  { name: 'PEERING', type: 'text', option: 'peering' },
  { name: 'PRIORITY', type: 'text', option: 'priority' },
  { name: 'LIVENESS_ENDPOINT', type: 'text', option: 'liveness' },
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
    .optionsGroup('Stop:')
    .addOption(gracePeriodOption())
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
