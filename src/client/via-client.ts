/**
 * The login by the official client library, where the user has installed it: it is asked to find its own credentials, and they
 * are taken from it. It is no dependency of this package, and loaded only here.
 */
import { LoginError } from '../errors.ts'
import { ConnectionInfo } from './credentials.ts'
import { hideSecrets } from './hide-secrets.ts'

const library = '@kubernetes/client-node'

/** As in Kopf: that of a kubeconfig. */
const priority = 10

/** What the library uses where it has found nothing at all. */
const nowhere = 'http://localhost:8080'

/** Of the library, only what is needed. */
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
 * Credentials as `@kubernetes/client-node` finds them; undefined where it finds none. Install the library yourself.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginViaClient())
 * ```
 */
export async function loginViaClient(): Promise<ConnectionInfo | undefined> {
  const { KubeConfig } = await load()
  const config = new KubeConfig()
  const options: HttpsOptions = {}
  const server = await ask(async () => {
    config.loadFromDefault()
    const found = config.getCurrentCluster()?.server
    if (found !== undefined && found !== nowhere) await config.applyToHTTPSOptions(options)
    return found
  })
  return server === undefined || server === nowhere ? undefined : toConnection(server, config, options)
}

async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    // More than the first line may repeat a piece of the kubeconfig.
    const [why = ''] = String((error as Error)?.message ?? error).split('\n')
    throw new LoginError(`Cannot log in via ${library}: it says "${hideSecrets(why)}"; check its configuration`)
  }
}

async function load(): Promise<{ readonly KubeConfig: new () => KubeConfig }> {
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
    // Tokens of pods are renewed in their file.
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
