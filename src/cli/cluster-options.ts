/** Which cluster a command is about: the options, and what they come to. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionInfo } from '../client/credentials.ts'
import { loginWithKubeconfig } from '../client/kubeconfig.ts'
import { LoginError } from '../errors.ts'

export interface ClusterArguments {
  readonly kubeconfig?: string
  readonly context?: string
}

export function addClusterOptions(command: Command): Command {
  return command
    .optionsGroup('Cluster:')
    .option('--kubeconfig <file>', 'use this kubeconfig (default: KUBECONFIG, or ~/.kube/config)')
    .option('--context <name>', 'use this context of the kubeconfig')
}

/** As the options say; undefined where they say nothing. */
export function connectionOf({ kubeconfig, context }: ClusterArguments): ConnectionInfo | undefined {
  if (kubeconfig === undefined && context === undefined) return undefined
  const found = loginWithKubeconfig({
    ...(kubeconfig === undefined ? {} : { path: resolve(kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  })
  if (found !== undefined) return found
  throw new LoginError(`Cannot use the context "${context}": there is no kubeconfig; name one with --kubeconfig`)
}
