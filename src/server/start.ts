/** Starts the embedded server on a port of this machine. */
import { randomBytes } from 'node:crypto'
import { KopfError } from '../errors.ts'
import { CertificateAuthority, type KeyPair } from '../util/certificates.ts'
import { ApiServer, type ApiServerOptions } from './api-server.ts'
import { administrator } from './authentication.ts'
import { type Listener, listen } from './http.ts'
import { toKubeconfig } from './kubeconfig.ts'

export interface StartServerOptions extends ApiServerOptions {
  /** Any free one by default. */
  readonly port?: number
  /** `127.0.0.1` by default. */
  readonly host?: string
  /** Plain HTTP instead of HTTPS. Tokens can be read on the way: only for this machine. */
  readonly insecure?: boolean
  /** Serves another server's objects and faults; then its own options count. By default a new one is made. */
  readonly api?: ApiServer
}

export interface RunningServer {
  readonly url: string
  /** The authority that signed the server's certificate, in PEM; absent for plain HTTP. */
  readonly ca?: string
  /** An administrator's; absent where the server is open. */
  readonly token?: string
  /** The server itself: its faults, its record of requests, its transport without a socket. */
  readonly api: ApiServer
  /** The text of a kubeconfig for an administrator. */
  readonly kubeconfig: string
  /** A client certificate of this server's authority; not for plain HTTP. */
  issueClientCertificate(commonName: string, organizations?: readonly string[]): Promise<KeyPair>
  /** Breaks every connection at once, as a network failure would. */
  breakConnections(): void
  stop(): Promise<void>
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
  const authority = insecure ? undefined : await CertificateAuthority.create('kopf-embedded-authority')
  const api = options.api ?? new ApiServer({ ...(authority && { ca: authority.caPem }), ...options })
  if (api.isOpen && !loopback.has(host)) {
    throw new KopfError(
      'KOPF_SERVER_OPEN',
      `Cannot start an open API server on "${host}": everybody could change everything; listen on 127.0.0.1 or require credentials`,
    )
  }
  const token = api.isOpen ? undefined : randomBytes(24).toString('base64url')
  if (token !== undefined) api.addToken(token, administrator)
  const tls = await tlsOf(authority, host)
  const listener = await listen(api, { host, port, ...tls }).catch((error) => {
    throw cannotListen(host, port, error)
  })
  return running(api, listener, { host, authority, token, isShared: options.api !== undefined })
}

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
  const stop = () => {
    if (!isShared) api.close()
    return listener.close()
  }
  return {
    ...access,
    api,
    kubeconfig: toKubeconfig(access),
    issueClientCertificate(commonName, organizations = []) {
      if (authority === undefined) {
        throw new KopfError(
          'KOPF_SERVER_INSECURE',
          'Cannot issue a client certificate: the server speaks plain HTTP; start it without `insecure`',
        )
      }
      return authority.issue({ commonName, organizations })
    },
    breakConnections: () => listener.breakConnections(),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
