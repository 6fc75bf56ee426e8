/** The peering options: of `kopf freeze` and `kopf resume`, which write to a peering, and of `kopf run` and `kopf manifests`. */
import type { Command } from 'commander'
import { personalIdentity } from '../../client/identity.ts'
import type { RunOptions } from '../../operator.ts'
import { createLogger, type Logger } from '../../util/log/log.ts'
import { isDuration, toMs } from '../../util/text/duration.ts'
import type { PeeringTarget } from '../commands/freeze-records.ts'
import { collect } from '../embedded.ts'
import { readEnvironment, type Variable } from '../environment.ts'
import { addClusterOptions, type ClusterArguments } from './cluster.ts'
import { addLoggingOptions, CommandLogging, type LoggingArguments, loggingVariables } from './logging.ts'

export interface PeeringArguments extends ClusterArguments, LoggingArguments {
  readonly namespace?: readonly string[]
  readonly allNamespaces?: boolean
  readonly id?: string
  readonly peering?: string
}

/** The priority of `--dev`: higher than that of deployed operators, which pause while a developer runs the operator. */
export const developerPriority = 666

export const peeringVariables: readonly Variable[] = [
  { name: 'NAMESPACES', type: 'list', option: 'namespace' },
  { name: 'CLUSTERWIDE', type: 'flag', option: 'allNamespaces' },
  { name: 'ID', type: 'text', option: 'id' },
  { name: 'PEERING', type: 'text', option: 'peering' },
  ...loggingVariables,
]

export function addPeeringOptions(command: Command): Command {
  command
    .optionsGroup('Peering:')
    .option('-P, --peering <name>', 'the name of the peering; required')
    .option(
      '-n, --namespace <pattern>',
      'the peerings in this namespace, or in those that match a pattern; can be repeated',
      collect,
    )
    .option('-A, --all-namespaces', 'the peering of operators that serve the whole cluster')
    .option('-i, --id <identity>', 'the name of the record in the peering (default: POD_ID, or user@host)')
  return addLoggingOptions(addClusterOptions(command))
}

/** Reads the options and environment variables. Fails with a usage error if a required option is missing. */
export function readPeeringArguments<A extends PeeringArguments>(command: Command, more: readonly Variable[] = []): A {
  readEnvironment(command, [...peeringVariables, ...more])
  const args = command.opts<A>()
  if (args.peering === undefined) command.error("error: required option '-P, --peering <name>' not specified")
  if (args.allNamespaces && (args.namespace ?? []).length > 0) {
    command.error("error: options '--namespace' and '--all-namespaces' cannot be used together.")
  }
  return args
}

export function toTarget({ peering, namespace = [], kubeconfig, context }: PeeringArguments): PeeringTarget {
  return {
    name: peering!,
    namespaces: namespace.length === 0 ? undefined : [...new Set(namespace)],
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  }
}

export async function toIdentity({ id }: PeeringArguments): Promise<string> {
  return id ?? personalIdentity()
}

/** Creates the logger. Warns if neither `--namespace` nor `--all-namespaces` is given: there are two kinds of peerings. */
export function startPeeringLog(args: PeeringArguments): Logger {
  const logger = createLogger(new CommandLogging(args).sink, 'kopf.cli')
  if (args.namespace === undefined && !args.allNamespaces) {
    logger.warn('Using the cluster-wide peering, since no namespace is given: confirm it with --all-namespaces')
  }
  return logger
}

/** Parses an integer from the command line or the environment. */
export function readInteger(command: Command, option: string, text: string): number {
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  return command.error(`error: option '${option}' is ${JSON.stringify(text)}. Expected a whole number.`)
}

/** Parses a duration from the command line or the environment, into whole seconds: a number of seconds, or a text with a unit such as `5m`. */
export function readSeconds(command: Command, option: string, text: string): number {
  const duration = /^\d+$/.test(text) ? Number(text) : text
  const seconds = isDuration(duration) ? toMs(duration) / 1000 : Number.NaN
  if (Number.isSafeInteger(seconds) && seconds >= 1) return seconds
  const expected = 'a number of seconds, or a duration such as 90s, 5m, 1h or 1d; at least one second, and no fractions'
  return command.error(`error: option '${option}' is ${JSON.stringify(text)}. Expected ${expected}.`)
}

/** The options of `kopf run` and `kopf manifests`. */
export interface PrecedenceArguments {
  readonly peering?: string
  readonly priority?: string
  readonly dev?: boolean
  readonly standalone?: boolean
}

export function addPrecedenceOptions(command: Command): Command {
  return command
    .optionsGroup('Other operators:')
    .option(
      '-P, --peering <name>',
      'join this peering: pause while an operator with a higher priority runs; wait until the peering exists',
    )
    .option('-p, --priority <number>', 'the priority among the operators of a peering (default: 0)')
    .option('--standalone', 'ignore peerings and other operators')
}

export function readPrecedence(
  command: Command,
  { peering, priority, dev, standalone }: PrecedenceArguments,
): Pick<RunOptions, 'peering' | 'priority' | 'standalone'> {
  const given = priority === undefined ? undefined : readInteger(command, '-p, --priority <number>', priority)
  const chosen = dev ? developerPriority : given
  return {
    ...(peering === undefined ? {} : { peering }),
    ...(chosen === undefined ? {} : { priority: chosen }),
    ...(standalone === undefined ? {} : { standalone }),
  }
}
