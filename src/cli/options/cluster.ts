/** The options that select the cluster of a command, and the login with them. Default: as for an operator without login handlers. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ConnectionInfo } from '../../client/auth/connection-info.ts'
import { LoginError } from '../../errors.ts'

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

type LoginOption = () => Promise<ConnectionInfo>

/** Undefined without these options. The login reads the kubeconfig at each call, since its credentials may have changed. */
export function loginByOptions({ kubeconfig, context }: ClusterArguments): LoginOption | undefined {
  if (kubeconfig === undefined && context === undefined) return undefined
  const options = {
    ...(kubeconfig === undefined ? {} : { path: resolve(kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  }
  return async () => {
    const { loginWithKubeconfig } = await import('../../client/auth/kubeconfig.ts')
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

/** The context of the kubeconfig that `login` uses; undefined in a pod, where the service account is used. */
export async function findContext({ kubeconfig, context }: ClusterArguments): Promise<string | undefined> {
  const [{ findContextName }, { loginWithServiceAccount }] = await Promise.all([
    import('../../client/auth/kubeconfig.ts'),
    import('../../client/auth/service-account.ts'),
  ])
  const hasOptions = kubeconfig !== undefined || context !== undefined
  if (!hasOptions && loginWithServiceAccount() !== undefined) return undefined
  return findContextName({
    ...(kubeconfig === undefined ? {} : { path: resolve(kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  })
}

/** Imported late: help and usage errors do not need it. */
async function loginByDefault(): Promise<ConnectionInfo | undefined> {
  const [{ loginWithKubeconfig }, { loginWithServiceAccount }] = await Promise.all([
    import('../../client/auth/kubeconfig.ts'),
    import('../../client/auth/service-account.ts'),
  ])
  return loginWithServiceAccount() ?? (await loginWithKubeconfig())
}
