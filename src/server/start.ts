/** Starts the embedded server on a port of this machine. */
import { randomBytes } from 'node:crypto'
import { KopfError } from '../errors.ts'
import { CertificateAuthority, type KeyPair } from '../util/certificates.ts'
import { systemClock } from '../util/clock.ts'
import { ApiServer, type ApiServerOptions } from './api-server.ts'
import { type Listener, listen } from './http.ts'
import { administrator } from './identity/authentication.ts'
import type { ServiceAccountName } from './identity/long-tokens.ts'
import { toKubeconfig } from './kubeconfig.ts'
import type { Data } from './storage/data.ts'
import { type Keepsakes, noKeepsakes } from './storage/keepsakes.ts'

/** Where a server listens, and what it is made with. */
export interface StartServerOptions extends ApiServerOptions {
  /** Any free one by default. */
  readonly port?: number
  /** `127.0.0.1` by default. */
  readonly host?: string
  /**
   * Plain HTTP instead of HTTPS, on a loopback address only, since tokens can be read on the way. Requests that a web page may have
   * sent are refused: to another host than a loopback name, or from another origin.
   */
  readonly insecure?: boolean
  /** Where what the server holds is kept, to go on from the next time; made where it is not there. By default nothing is kept. */
  readonly dataDir?: string
  /** Serves another server's objects and faults; then its own options count. By default a new one is made. */
  readonly api?: ApiServer
}

/** A service account that is there, or anybody with a name, by a certificate. */
export type KubeconfigUser = ServiceAccountName | { readonly user: string; readonly groups?: readonly string[] }

/** A server that listens. Leaving the block of `await using` stops it. */
export interface RunningServer {
  /** Where it listens: `https://127.0.0.1:43219`. */
  readonly url: string
  /** The authority that signed the server's certificate, in PEM; absent for plain HTTP. */
  readonly ca?: string
  /** An administrator's; absent where the server is open. */
  readonly token?: string
  /** The server itself: its faults, its record of requests, its transport without a socket. */
  readonly api: ApiServer
  /** The text of a kubeconfig for an administrator. */
  readonly kubeconfig: string
  /** The same for somebody else: what they may is told by roles, where the server goes by them. */
  kubeconfigFor(user: KubeconfigUser): Promise<string>
  /** A client certificate of this server's authority; not for plain HTTP. */
  issueClientCertificate(commonName: string, organizations?: readonly string[]): Promise<KeyPair>
  /** Breaks every connection at once, as a network failure would. */
  breakConnections(): void
  /** Ends all connections and the server; resolves when what it held is kept, or gone. */
  stop(): Promise<void>
  /** As `stop`. */
  [Symbol.asyncDispose](): Promise<void>
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Starts an API server that needs nothing but Node.
 *
 * @example
 * ```ts
 * import { startServer } from 'kopf/server'
 *
 * await using server = await startServer()
 * // kubectl, client libraries, operators: they all find it by server.kubeconfig
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
  const data = await openKept(options)
  const keepsakes = options.api?.keepsakes ?? data?.keepsakes ?? noKeepsakes
  let own: ApiServer | undefined
  try {
    const authority = insecure ? undefined : await authorityOf(keepsakes)
    if (options.api === undefined) own = new ApiServer({ ...(authority && { ca: authority.caPem }), ...options }, data)
    const api = options.api ?? own!
    const token = api.isOpen ? undefined : tokenOf(keepsakes)
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

async function openKept({ api, dataDir, ...options }: StartServerOptions): Promise<Data | undefined> {
  if (api !== undefined || dataDir === undefined) return undefined
  // Only now: most servers keep nothing.
  const { openKeptData } = await import('./kept-data.ts')
  return openKeptData(dataDir, options)
}

/** The same as in earlier lives of the server, so that a kubeconfig goes on being good. */
function tokenOf(keepsakes: Keepsakes): string {
  const known = keepsakes.recall('administrator-token')
  if (known !== undefined) return known
  const token = randomBytes(24).toString('base64url')
  keepsakes.remember('administrator-token', token)
  return token
}

/** Also the same; a new one when it has less than a month to go. */
async function authorityOf(keepsakes: Keepsakes): Promise<CertificateAuthority> {
  const known = keepsakes.recall('authority')
  if (known !== undefined) {
    const { pair, until } = JSON.parse(known) as { pair: KeyPair; until: number }
    if (until > systemClock.now()) return CertificateAuthority.load(pair)
  }
  const authority = await CertificateAuthority.create('kopf-embedded-authority', { lifetimeMs: authorityLifetimeMs })
  const until = systemClock.now() + authorityLifetimeMs - 30 * dayMs
  keepsakes.remember('authority', JSON.stringify({ pair: await authority.exportPair(), until }))
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

interface Identity {
  readonly host: string
  readonly authority: CertificateAuthority | undefined
  readonly token: string | undefined
  /** Whether others may serve the same objects, whose watches are not to end with this listener. */
  readonly isShared: boolean
}

function running(api: ApiServer, listener: Listener, { host, authority, token, isShared }: Identity): RunningServer {
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
