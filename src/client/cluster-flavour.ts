/**
 * Reads the TLS certificate and the version of the API server, by which local clusters (k3d, Minikube, Docker Desktop) are
 * recognised. Used by `WebhookAutoServer` and `WebhookAutoTunnel`; needs no permissions. The only code beside transport.ts that
 * connects to the API server.
 */
import type { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { toHost } from '../util/text/hosts.ts'
import type { ConnectionInfo } from './auth/connection-info.ts'
import { readCredentialFiles } from './auth/credential-files.ts'
import { findProxy } from './http/proxy.ts'
import { openTunnel } from './http/proxy-tunnel.ts'
import { toTlsOptions } from './http/tls.ts'
import type { Session } from './session.ts'

/** Names in the API server's certificate, and its version; undefined for fields that cannot be read. */
export interface ClusterFlavour {
  /** The common name of the certificate's subject. */
  readonly subjectCommonName: string | undefined
  /** The organization of the certificate's subject. */
  readonly subjectOrganization: string | undefined
  /** The common name of the certificate's issuer. */
  readonly issuerCommonName: string | undefined
  /** The subject alternative names of the certificate, such as `localhost`. */
  readonly hosts: readonly string[]
  /** The version of the API server: `v1.31.2+k3s1`. */
  readonly gitVersion: string | undefined
}

/** Without a connection (embedded server), only the version is read. Rejects only when the signal is aborted. */
export async function readClusterFlavour(
  session: Session,
  connection: ConnectionInfo | undefined,
  signal: AbortSignal,
): Promise<ClusterFlavour> {
  // Either of them may be enough to recognise the cluster.
  const [certificate, gitVersion] = await Promise.all([
    connection && readPeerCertificate(connection, signal).catch(() => undefined),
    readVersion(session, signal).catch(() => undefined),
  ])
  signal.throwIfAborted()
  return { ...readCertificateNames(certificate), gitVersion }
}

async function readVersion(session: Session, signal: AbortSignal): Promise<string | undefined> {
  const { gitVersion } = await session.request({ method: 'GET', path: '/version', purpose: 'discovery' }, signal)
  return typeof gitVersion === 'string' ? gitVersion : undefined
}

function readCertificateNames(certificate: X509Certificate | undefined): Omit<ClusterFlavour, 'gitVersion'> {
  return {
    subjectCommonName: nameAttribute(certificate?.subject, 'CN'),
    subjectOrganization: nameAttribute(certificate?.subject, 'O'),
    issuerCommonName: nameAttribute(certificate?.issuer, 'CN'),
    hosts: parseSubjectAltNames(certificate?.subjectAltName),
  }
}

/** One attribute of a distinguished name, which Node writes with one attribute per line: `O=k3s`. The first one counts. */
function nameAttribute(name: string | undefined, type: string): string | undefined {
  return name
    ?.split('\n')
    .find((line) => line.startsWith(`${type}=`))
    ?.slice(type.length + 1)
}

/** The hosts in `DNS:localhost, IP Address:127.0.0.1`. */
function parseSubjectAltNames(names: string | undefined): readonly string[] {
  return [...(names ?? '').matchAll(/(?:DNS|IP Address):([^,]+)/g)].map(([, host]) => host!)
}

/** Maximum idle time of the socket during the handshake. */
const handshakeTimeoutMs = 10_000

/**
 * The server's certificate from a TLS handshake, without sending a request or a token. Undefined for plain HTTP. Rejects if the server
 * cannot be reached or its certificate is not trusted.
 */
export async function readPeerCertificate(
  connection: ConnectionInfo,
  signal: AbortSignal,
): Promise<X509Certificate | undefined> {
  signal.throwIfAborted()
  const options = readCredentialFiles(connection).reveal()
  const url = new URL(options.server)
  if (url.protocol !== 'https:') return undefined
  const target = { host: toHost(url), port: Number(url.port || 443) }
  const proxy = findProxy(options)
  const tunnel = proxy && { socket: await openTunnel(proxy, target, signal) }
  const socket = connect({ ...toTlsOptions(options), ...target, ...tunnel, timeout: handshakeTimeoutMs })
  const interrupt = () => socket.destroy(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      socket.once('secureConnect', () => resolve(socket.getPeerX509Certificate()))
      socket.once('timeout', () => reject(new Error(`no handshake within ${handshakeTimeoutMs / 1000} seconds`)))
      socket.once('close', () => reject(signal.reason ?? new Error('closed in the middle of the handshake')))
      socket.on('error', reject)
    })
  } finally {
    signal.removeEventListener('abort', interrupt)
    socket.destroy()
  }
}
