/** Starts the embedded server on a port of this machine. */
import { randomBytes } from 'node:crypto'
import { KopfError } from '../errors.ts'
import { systemClock } from '../util/async/clock.ts'
import { CertificateAuthority, type KeyPair } from '../util/certificates.ts'
import { ApiServer, type ApiServerOptions } from './api-server.ts'
import { type HttpListener, listen } from './http.ts'
import { administrator } from './identity/authentication.ts'
import type { ServiceAccountName } from './identity/long-tokens.ts'
import { toKubeconfig } from './kubeconfig.ts'
import type { Data } from './storage/data.ts'
import { noServerState, type ServerState } from './storage/server-state.ts'

/** Where the server listens, its data directory, and the options of its API server. */
export interface StartServerOptions extends ApiServerOptions {
  /** The port to listen on. Default: any free port. */
  readonly port?: number
  /** The address to listen on. Default: `127.0.0.1`. */
  readonly host?: string
  /**
   * Serves plain HTTP instead of HTTPS, on a loopback address only, since tokens can be read on the network. Requests that may come
   * from a web page are refused: with a host that is not a loopback name, or from another origin. Default: false.
   */
  readonly insecure?: boolean
  /** The directory that objects are stored in and restored from at the next start; created if missing. Default: nothing is stored. */
  readonly dataDir?: string
  /** Serves this existing server, with its objects, faults and options. Default: a new server. */
  readonly api?: ApiServer
}

/** An existing service account (authenticated by a token), or a user with groups (authenticated by a client certificate). */
export type KubeconfigUser = ServiceAccountName | { readonly user: string; readonly groups?: readonly string[] }

/** A listening server. Leaving the block of `await using` stops it. */
export interface RunningServer {
  /** The address of the server: `https://127.0.0.1:43219`. */
  readonly url: string
  /** The CA that signed the server's certificate, in PEM; absent for plain HTTP. */
  readonly ca?: string
  /** A bearer token of an administrator; absent if the server is open. */
  readonly token?: string
  /** The API server: its faults, its request log, its transport without a socket. */
  readonly api: ApiServer
  /** The text of a kubeconfig for an administrator. */
  readonly kubeconfig: string
  /** Returns the text of a kubeconfig for another user. With `authorization: 'rbac'`, roles and bindings determine their permissions. */
  kubeconfigFor(user: KubeconfigUser): Promise<string>
  /** Issues a client certificate by this server's CA. Throws for plain HTTP. */
  issueClientCertificate(commonName: string, organizations?: readonly string[]): Promise<KeyPair>
  /** Closes every connection immediately, like a network failure. */
  breakConnections(): void
  /** Closes all connections and the server. Resolves when all changes are on disk, if there is a data directory. */
  stop(): Promise<void>
  /** The same as `stop`. */
  [Symbol.asyncDispose](): Promise<void>
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Starts a Kubernetes API server, without any other program. By default on a free port of 127.0.0.1, with HTTPS, and with nothing
 * stored on disk.
 *
 * @example
 * ```ts
 * import { startServer } from 'kopf/server'
 *
 * await using server = await startServer()
 * // kubectl, client libraries and operators connect with server.kubeconfig
 * ```
 */
export async function startServer(options: StartServerOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = 0, insecure = false } = options
  if ((options.api?.isOpen ?? options.open) && !loopback.has(host)) {
    throw new KopfError(
      'KOPF_SERVER_OPEN',
      `Cannot start an open API server on "${host}": everybody could change everything; listen on 127.0.0.1 or require credentials`,
    )
  }
  if (insecure && !loopback.has(host)) {
    throw new KopfError(
      'KOPF_SERVER_INSECURE',
      `Cannot start an API server with plain HTTP on "${host}": tokens and Secrets could be read on the way; listen on 127.0.0.1 or leave "insecure" out`,
    )
  }
  const data = await openStoredData(options)
  const serverState = options.api?.serverState ?? data?.serverState ?? noServerState
  let own: ApiServer | undefined
  try {
    const authority = insecure ? undefined : await authorityOf(serverState)
    if (options.api === undefined) own = new ApiServer({ ...(authority && { ca: authority.caPem }), ...options }, data)
    const api = options.api ?? own!
    const token = api.isOpen ? undefined : tokenOf(serverState)
    if (token !== undefined) api.addToken(token, administrator)
    const tls = await tlsOf(authority, host)
    const listener = await listen(api, { host, port, ...tls }).catch((error) => {
      throw cannotListen(host, port, error)
    })
    return running(api, listener, { host, authority, token, isShared: own === undefined })
  } catch (error) {
    await (own ?? data)?.close()
    throw error
  }
}

async function openStoredData({ api, dataDir, ...options }: StartServerOptions): Promise<Data | undefined> {
  if (api !== undefined || dataDir === undefined) return undefined
  // Imported on demand, since most servers have no data directory.
  const { openDataDir } = await import('./open-data-dir.ts')
  return openDataDir(dataDir, options)
}

/** The administrator's token is stored, so that a kubeconfig stays valid after a restart. */
function tokenOf(serverState: ServerState): string {
  const known = serverState.get('administrator-token')
  if (known !== undefined) return known
  const token = randomBytes(24).toString('base64url')
  serverState.put('administrator-token', token)
  return token
}

/** The CA is stored too; a new one is created when it expires within a month. */
async function authorityOf(serverState: ServerState): Promise<CertificateAuthority> {
  const known = serverState.get('authority')
  if (known !== undefined) {
    const { pair, until } = JSON.parse(known) as { pair: KeyPair; until: number }
    if (until > systemClock.now()) return CertificateAuthority.load(pair)
  }
  const authority = await CertificateAuthority.create('kopf-embedded-authority', { lifetimeMs: authorityLifetimeMs })
  const until = systemClock.now() + authorityLifetimeMs - 30 * dayMs
  serverState.put('authority', JSON.stringify({ pair: await authority.exportPair(), until }))
  return authority
}

const dayMs = 24 * 3_600_000
const authorityLifetimeMs = 365 * dayMs

const listenProblems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program; choose another one, or 0 for any that is free',
  EACCES: 'this user may not listen on that port; choose one above 1023, or 0 for any that is free',
  EADDRNOTAVAIL: 'this machine has no such address; listen on 127.0.0.1',
  ENOTFOUND: 'this machine does not know the name; listen on 127.0.0.1',
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): KopfError {
  const why = listenProblems[cause.code ?? ''] ?? cause.message
  return new KopfError('KOPF_SERVER_LISTEN', `Cannot listen on ${addressOf(host, port)}: ${why}`, { cause })
}

function addressOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function tlsOf(authority: CertificateAuthority | undefined, host: string): Promise<object> {
  if (authority === undefined) return {}
  const hosts = [...new Set([...loopback, host, 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'])]
  const serving = await authority.issue({ commonName: 'kopf-embedded-server', hosts })
  return { tls: { serving, clientCa: authority.caPem } }
}

interface ListenerDetails {
  readonly host: string
  readonly authority: CertificateAuthority | undefined
  readonly token: string | undefined
  /** True if the ApiServer was passed in: its watches must not end with this listener. */
  readonly isShared: boolean
}

function running(
  api: ApiServer,
  listener: HttpListener,
  { host, authority, token, isShared }: ListenerDetails,
): RunningServer {
  const scheme = authority === undefined ? 'http' : 'https'
  const url = `${scheme}://${addressOf(host, listener.port)}`
  const access = {
    url,
    ...(authority === undefined ? {} : { ca: authority.caPem }),
    ...(token === undefined ? {} : { token }),
  }
  const stop = async () => {
    const closed = isShared ? undefined : api.close()
    await listener.close()
    await closed
  }
  const issueClientCertificate = (commonName: string, organizations: readonly string[] = []) => {
    if (authority !== undefined) return authority.issue({ commonName, organizations })
    throw new KopfError(
      'KOPF_SERVER_INSECURE',
      'Cannot issue a client certificate: the server speaks plain HTTP; start it without `insecure`',
    )
  }
  return {
    ...access,
    api,
    kubeconfig: toKubeconfig(access),
    issueClientCertificate,
    async kubeconfigFor(user) {
      const { token: _, ...server } = access
      if ('serviceAccount' in user) {
        const { namespace = 'default' } = user
        return toKubeconfig({ ...server, token: api.issueToken(user), namespace })
      }
      const clientCertificate = await issueClientCertificate(user.user, user.groups)
      return toKubeconfig({ ...server, clientCertificate })
    },
    breakConnections: () => listener.breakConnections(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
