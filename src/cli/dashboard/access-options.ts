/** The options with which `kopf top` and `kopf dashboard` find an operator in a cluster, and the token for it. */
import { type Command, InvalidArgumentError } from 'commander'
import { addClusterOptions, type ClusterArguments } from '../options/cluster.ts'
import type { PodPort } from './operator-pod.ts'

export interface AccessArguments extends ClusterArguments {
  readonly namespace?: string
  readonly selector?: string
  readonly podPort?: PodPort
  readonly token?: string
  readonly tokenFile?: string
  readonly serviceAccount?: string
}

/** Adds the options for the pod and for the token. */
export function addAccessOptions(command: Command): Command {
  command
    .optionsGroup('Operator:')
    .option('-n, --namespace <name>', 'the namespace in which the operator runs (default: the one in the kubeconfig)')
    .option(
      '-l, --selector <labels>',
      'the labels of the pods of the operator (default: those that "kopf manifests" writes)',
    )
    .option(
      '--pod-port <port>',
      'the port of the dashboard, such as 8443 or http:8080 (default: the container port "dashboard")',
      parsePodPort,
    )
    .optionsGroup('Token for the operator:')
    .option(
      '--token <token>',
      'log in to the operator with this token; other users of this machine can see it: prefer --token-file',
    )
    .option('--token-file <file>', 'log in with the token in this file, or with that on standard input: -')
    .option(
      '--service-account <name>',
      'log in with a new token for this service account, or namespace/name (default: the token of the kubeconfig)',
    )
  return addClusterOptions(command)
}

function parsePodPort(value: string): PodPort {
  const [, scheme = 'https', digits = ''] = /^(?:(https?):)?(\d{1,5})$/.exec(value) ?? []
  const port = Number(digits)
  if (digits === '' || port < 1 || port > 65_535) {
    throw new InvalidArgumentError('Expected a port, such as 8443, https:8443 or http:8080.')
  }
  return { scheme: scheme as PodPort['scheme'], port }
}

/** Rejects options that exclude each other. */
export function checkAccessUsage(
  command: Command,
  { token, tokenFile, serviceAccount, selector }: AccessArguments,
  name: string | undefined,
): void {
  const given = [
    ['--token', token],
    ['--token-file', tokenFile],
    ['--service-account', serviceAccount],
  ].filter(([, value]) => value !== undefined)
  if (given.length > 1)
    command.error(`error: ${given.map(([option]) => `'${option}'`).join(' and ')} cannot be used together.`)
  if (name !== undefined && selector !== undefined)
    command.error("error: a name and '--selector' cannot be used together.")
}
