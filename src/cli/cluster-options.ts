/** Which cluster a command is about: the options, and what they come to; else as an operator without login handlers finds its own. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionInfo } from '../client/credentials.ts'
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

type Login = () => Promise<ConnectionInfo>

/** Undefined where the options say nothing. Reads all anew at each call: files and programs may have other credentials then. */
export function loginByOptions({ kubeconfig, context }: ClusterArguments): Login | undefined {
  if (kubeconfig === undefined && context === undefined) return undefined
  const options = {
    ...(kubeconfig === undefined ? {} : { path: resolve(kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  }
  return async () => {
    const { loginWithKubeconfig } = await import('../client/kubeconfig.ts')
    const found = await loginWithKubeconfig(options)
    if (found !== undefined) return found
    throw new LoginError(`Cannot use the context "${context}": there is no kubeconfig; name one with --kubeconfig`)
  }
}

export async function login(args: ClusterArguments): Promise<ConnectionInfo> {
  const found = (await loginByOptions(args)?.()) ?? (await loginByDefault())
  if (found !== undefined) return found
  throw new LoginError('Cannot find a cluster: there is no kubeconfig; name one with --kubeconfig or KUBECONFIG')
}

/** Loaded only now: help and wrong usage need none of it. */
async function loginByDefault(): Promise<ConnectionInfo | undefined> {
  const [{ loginWithKubeconfig }, { loginWithServiceAccount }] = await Promise.all([
    import('../client/kubeconfig.ts'),
    import('../client/service-account.ts'),
  ])
  return loginWithServiceAccount() ?? (await loginWithKubeconfig())
}
