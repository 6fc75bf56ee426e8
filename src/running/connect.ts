/** Finds the cluster: what was given, else a kubeconfig, else the service account of the pod. */
import type { ConnectionInfo } from '../client/credentials.ts'
import { loginWithKubeconfig } from '../client/kubeconfig.ts'
import { loginWithServiceAccount } from '../client/service-account.ts'
import { createHttpsTransport } from '../client/transport.ts'
import { KopfError } from '../errors.ts'
import type { Transport } from '../util/transport.ts'

export interface Connected {
  readonly transport: Transport
  readonly defaultNamespace: string | undefined
  close(): Promise<void>
}

export function connect(options: {
  readonly transport?: Transport | undefined
  readonly connection?: ConnectionInfo | undefined
}): Connected {
  if (options.transport !== undefined) {
    return { transport: options.transport, defaultNamespace: undefined, close: async () => {} }
  }
  const connection = options.connection ?? loginWithServiceAccount() ?? loginWithKubeconfig()
  if (connection === undefined) {
    throw new KopfError(
      'KOPF_LOGIN',
      'Cannot find a cluster: there is neither a kubeconfig nor the service account of a pod',
    )
  }
  const transport = createHttpsTransport(connection)
  return { transport, defaultNamespace: connection.defaultNamespace, close: () => transport.close() }
}
