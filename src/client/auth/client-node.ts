/**
 * Login with the credentials that the official client library (`@kubernetes/client-node`) finds. The library is no dependency of this
 * package: the user installs it, and only this file loads it.
 */
import { LoginError } from '../../errors.ts'
import { ConnectionInfo } from './connection-info.ts'
import { hideSecrets } from './exec-plugin.ts'

const library = '@kubernetes/client-node'

/** The priority of these credentials, as in Kopf: equal to that of a kubeconfig. */
const priority = 10

/** The server of the library's configuration if it has found no kubeconfig. */
const fallbackServer = 'http://localhost:8080'

/** The part of the library's `KubeConfig` that is used here. */
interface KubeConfig {
  loadFromDefault(): void
  getCurrentContext(): string
  getContextObject(name: string): { readonly namespace?: string } | null
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string } | null
  getCurrentUser(): {
    readonly impersonateUser?: string
    readonly authProvider?: { readonly config?: { readonly tokenFile?: string } }
  } | null
  applyToHTTPSOptions(options: HttpsOptions): Promise<void>
}

interface HttpsOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly ca?: Buffer | string
  readonly cert?: Buffer | string
  readonly key?: Buffer | string
  /** `username:password` */
  readonly auth?: string
  readonly rejectUnauthorized?: boolean
  readonly servername?: string
}

/**
 * Returns the credentials that `@kubernetes/client-node` finds, or undefined if it finds none. For login handlers. Requires
 * `npm install @kubernetes/client-node`; throws a `LoginError` if it is missing.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginViaClient())
 * ```
 */
export async function loginViaClient(): Promise<ConnectionInfo | undefined> {
  const { KubeConfig } = await importLibrary()
  const config = new KubeConfig()
  const options: HttpsOptions = {}
  const server = await callLibrary(async () => {
    config.loadFromDefault()
    const found = config.getCurrentCluster()?.server
    if (found !== undefined && found !== fallbackServer) await config.applyToHTTPSOptions(options)
    return found
  })
  return server === undefined || server === fallbackServer ? undefined : toConnection(server, config, options)
}

async function callLibrary<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    // Further lines may quote the kubeconfig, which may contain secrets.
    const [why = ''] = String((error as Error)?.message ?? error).split('\n')
    throw new LoginError(`Cannot log in via ${library}: it says "${hideSecrets(why)}"; check its configuration`)
  }
}

async function importLibrary(): Promise<{ readonly KubeConfig: new () => KubeConfig }> {
  try {
    return await import(library)
  } catch (cause) {
    const isMissing = /MODULE_NOT_FOUND$/.test(String((cause as NodeJS.ErrnoException).code))
    const why = isMissing ? `it is not installed; run "npm install ${library}"` : 'it cannot be loaded'
    throw new LoginError(`Cannot log in via ${library}: ${why}, or use loginWithKubeconfig()`, { cause })
  }
}

function toConnection(server: string, config: KubeConfig, options: HttpsOptions): ConnectionInfo {
  const { headers, ca, cert, key, rejectUnauthorized, servername } = options
  const user = config.getCurrentUser()
  return new ConnectionInfo({
    server,
    caData: ca?.toString(),
    insecure: rejectUnauthorized === false,
    tlsServerName: servername,
    ...toAuthorization(headers?.['Authorization'], options.auth),
    // The kubelet renews a pod's token in its file.
    tokenPath: user?.authProvider?.config?.tokenFile,
    certificateData: cert?.toString(),
    privateKeyData: key?.toString(),
    defaultNamespace: config.getContextObject(config.getCurrentContext())?.namespace,
    proxyUrl: config.getCurrentCluster()?.proxyUrl,
    ...(user?.impersonateUser && { impersonate: { user: user.impersonateUser } }),
    priority,
  })
}

function toAuthorization(header: string | undefined, auth: string | undefined): object {
  if (auth !== undefined) {
    const [username, ...rest] = auth.split(':')
    return { username, password: rest.join(':') }
  }
  const [scheme, token] = header?.split(' ') ?? []
  return token === undefined ? {} : { scheme, token: token.trim() }
}
