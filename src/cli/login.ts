/** Which cluster a command is about: as its options say, else as an operator without login handlers finds its own. */
import { resolve } from 'node:path'
import type { ConnectionInfo } from '../client/credentials.ts'
import { loginWithKubeconfig } from '../client/kubeconfig.ts'
import { loginWithServiceAccount } from '../client/service-account.ts'
import { LoginError } from '../errors.ts'

export interface LoginArguments {
  readonly kubeconfig?: string
  readonly context?: string
}

/** Undefined where the options say nothing. */
export function loginByOptions({ kubeconfig, context }: LoginArguments): ConnectionInfo | undefined {
  if (kubeconfig === undefined && context === undefined) return undefined
  const options = {
    ...(kubeconfig === undefined ? {} : { path: resolve(kubeconfig) }),
    ...(context === undefined ? {} : { context }),
  }
  const connection = loginWithKubeconfig(options)
  if (connection !== undefined) return connection
  throw new LoginError(`Cannot use the context "${context}": there is no kubeconfig; name one with --kubeconfig`)
}

export function login(args: LoginArguments): ConnectionInfo {
  const found = loginByOptions(args) ?? loginWithServiceAccount() ?? loginWithKubeconfig()
  if (found !== undefined) return found
  throw new LoginError('Cannot find a cluster: there is no kubeconfig; name one with --kubeconfig or KUBECONFIG')
}
