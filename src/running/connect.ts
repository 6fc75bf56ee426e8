/**
 * The way to the cluster, found when it is first needed: what was given, else what the login handlers say, else the service
 * account of the pod, else a kubeconfig. Whoever asks for something meanwhile waits for it.
 */
import type { ConnectionInfo } from '../client/credentials.ts'
import { loginWithKubeconfig } from '../client/kubeconfig.ts'
import { loginWithServiceAccount } from '../client/service-account.ts'
import { createHttpsTransport } from '../client/transport.ts'
import { KopfError, LoginError } from '../errors.ts'
import type { Transport } from '../util/transport.ts'

export interface ConnectionOptions {
  readonly transport?: Transport | undefined
  readonly connection?: ConnectionInfo | undefined
  /** Absent where there are no login handlers. */
  readonly login?: (() => Promise<ConnectionInfo>) | undefined
}

interface Connected {
  readonly transport: Transport
  /** Undefined for a transport that was given. */
  readonly info: ConnectionInfo | undefined
  close(): Promise<void>
}

export class Connection {
  readonly #options: ConnectionOptions
  #connecting: Promise<Transport> | undefined
  #connected: Connected | undefined
  #isClosed = false

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  /** Undefined before the connection is found, and where it does not say. */
  get defaultNamespace(): string | undefined {
    return this.#connected?.info?.defaultNamespace
  }

  /** The one that was found. */
  get info(): ConnectionInfo | undefined {
    return this.#connected?.info
  }

  /** Once for all who ask; where it has failed, the next one tries again. */
  open(): Promise<Transport> {
    this.#connecting ??= this.#connect().catch((error: unknown) => {
      this.#connecting = undefined
      throw error
    })
    return this.#connecting
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#connected?.close()
  }

  async #connect(): Promise<Transport> {
    if (this.#isClosed) throw new KopfError('KOPF_CONNECTION_CLOSED', 'Cannot connect: the operator has stopped')
    this.#connected = await find(this.#options)
    return this.#connected.transport
  }
}

async function find({ transport, connection, login }: ConnectionOptions): Promise<Connected> {
  if (transport !== undefined) return { transport, info: undefined, close: async () => {} }
  const found = connection ?? (await login?.()) ?? loginByDefault()
  const opened = createHttpsTransport(found)
  return { transport: opened, info: found, close: () => opened.close() }
}

function loginByDefault(): ConnectionInfo {
  const found = loginWithServiceAccount() ?? loginWithKubeconfig()
  if (found !== undefined) return found
  throw new LoginError('Cannot find a cluster: there is neither a kubeconfig nor the service account of a pod')
}
