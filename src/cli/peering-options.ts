/** What `kopf freeze` and `kopf resume` have in common: which peering is meant, on which cluster, and who speaks. */
import type { Command } from 'commander'
import { personalIdentity } from '../client/identity.ts'
import { createLogger, type Logger } from '../util/log.ts'
import { addClusterOptions, type ClusterArguments } from './cluster-options.ts'
import { collect } from './embedded.ts'
import { readEnvironment, type Variable } from './environment.ts'
import { addLoggingOptions, CommandLogging, type LoggingArguments, loggingVariables } from './logging-options.ts'
import type { PeeringTarget } from './peering-records.ts'

export interface PeeringArguments extends ClusterArguments, LoggingArguments {
  readonly namespace?: readonly string[]
  readonly allNamespaces?: boolean
  readonly id?: string
  readonly peering?: string
}

/** Above everything that runs in a cluster: whoever tries something out wants to see it happen. */
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
      'the peerings of this namespace, or of those that match; can be repeated',
      collect,
    )
    .option('-A, --all-namespaces', 'the peering of operators that serve the whole cluster')
    .option('-i, --id <identity>', 'speak under this name (default: POD_ID, or user@host)')
  return addLoggingOptions(addClusterOptions(command))
}

/** With what is in the environment; ends with a usage error where something is missing. */
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

/** Whoever names neither a namespace nor all of them may not know that there are two kinds of peerings. */
export function startPeeringLog(args: PeeringArguments): Logger {
  const logger = createLogger(new CommandLogging(args).sink, 'kopf.cli')
  if (args.namespace === undefined && !args.allNamespaces) {
    logger.warn('The peering of the whole cluster is meant, as no namespace was named: say so with --all-namespaces')
  }
  return logger
}

/** A whole number, from the command line or the environment. */
export function readInteger(command: Command, option: string, text: string, least: number = -Infinity): number {
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number) && number >= least) return number
  const expected = least === -Infinity ? 'a whole number' : `a whole number of at least ${least}`
  return command.error(`error: option '${option}' is ${JSON.stringify(text)}. Expected ${expected}.`)
}
