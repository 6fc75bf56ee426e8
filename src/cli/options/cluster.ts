/** The options and arguments that select the cluster and the object of a command, and the login with them. Default: as for an operator without login handlers. */
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

/** The description of the argument `<resource>`. */
export const resourceArgument =
  'a plural, singular, kind or short name, such as kopfexamples or kopfexamples.kopf.dev; or resource/name'

/** The object that the arguments of a command name: `<resource> <name>`, or `<resource>/<name>` as in kubectl. */
export function readObjectName(
  command: Command,
  target: string,
  name: string | undefined,
): { readonly resource: string; readonly name: string | undefined } {
  const slash = target.indexOf('/')
  if (slash < 0) return { resource: target, name }
  const [resource, inTarget] = [target.slice(0, slash), target.slice(slash + 1)]
  if (resource === '' || inTarget === '') command.error(`error: "${target}" is not of the form resource/name.`)
  if (name !== undefined) command.error(`error: there are two names: "${inTarget}" in "${target}", and "${name}".`)
  return { resource, name: inTarget }
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
    const { loginWithKubeconfig, whyNoKubeconfig } = await import('../../client/auth/kubeconfig.ts')
    const found = await loginWithKubeconfig(options)
    if (found !== undefined) return found
    throw new LoginError(`Cannot use the context "${context}": ${whyNoKubeconfig()}; name one with --kubeconfig`)
  }
}

export async function login(args: ClusterArguments): Promise<ConnectionInfo> {
  const found = (await loginByOptions(args)?.()) ?? (await loginByDefault())
  if (found !== undefined) return found
  const { whyNoKubeconfig } = await import('../../client/auth/kubeconfig.ts')
  throw new LoginError(`Cannot find a cluster: ${whyNoKubeconfig()}; name one with --kubeconfig or KUBECONFIG`)
}

/** Imported late: help and usage errors do not need it. */
async function loginByDefault(): Promise<ConnectionInfo | undefined> {
  const [{ loginWithKubeconfig }, { loginWithServiceAccount }] = await Promise.all([
    import('../../client/auth/kubeconfig.ts'),
    import('../../client/auth/service-account.ts'),
  ])
  return loginWithServiceAccount() ?? (await loginWithKubeconfig())
}
