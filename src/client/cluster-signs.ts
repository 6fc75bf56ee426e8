/**
 * By what one can tell which kind of cluster this is: the certificate that its API server shows, and its version. Asked by
 * the webhook servers that guess under which name the cluster reaches this machine; needs no permissions.
 */
import type { X509Certificate } from 'node:crypto'
import type { Session } from './calls.ts'
import type { ConnectionInfo } from './credentials.ts'
import { readPeerCertificate } from './peer-certificate.ts'

/** Undefined for what the API server does not tell. */
export interface ClusterSigns {
  readonly subjectCommonName: string | undefined
  readonly subjectOrganization: string | undefined
  readonly issuerCommonName: string | undefined
  /** The names the certificate is for, such as `localhost`. */
  readonly hosts: readonly string[]
  /** Such as `v1.31.2+k3s1`. */
  readonly gitVersion: string | undefined
}

/** Without a connection, as in process, there is only the version. Rejects only when the signal is aborted. */
export async function readClusterSigns(
  session: Session,
  connection: ConnectionInfo | undefined,
  signal: AbortSignal,
): Promise<ClusterSigns> {
  // A sign that cannot be read is one that is not there: others may tell.
  const [certificate, gitVersion] = await Promise.all([
    connection && readPeerCertificate(connection, signal).catch(() => undefined),
    readVersion(session, signal).catch(() => undefined),
  ])
  signal.throwIfAborted()
  return { ...signsOf(certificate), gitVersion }
}

async function readVersion(session: Session, signal: AbortSignal): Promise<string | undefined> {
  const { gitVersion } = await session.request({ method: 'GET', path: '/version' }, signal)
  return typeof gitVersion === 'string' ? gitVersion : undefined
}

function signsOf(certificate: X509Certificate | undefined): Omit<ClusterSigns, 'gitVersion'> {
  return {
    subjectCommonName: partOf(certificate?.subject, 'CN'),
    subjectOrganization: partOf(certificate?.subject, 'O'),
    issuerCommonName: partOf(certificate?.issuer, 'CN'),
    hosts: hostsOf(certificate?.subjectAltName),
  }
}

/** Names are written one part a line: `O=k3s`. The first counts. */
function partOf(name: string | undefined, type: string): string | undefined {
  return name
    ?.split('\n')
    .find((line) => line.startsWith(`${type}=`))
    ?.slice(type.length + 1)
}

/** `DNS:localhost, IP Address:127.0.0.1` */
function hostsOf(names: string | undefined): readonly string[] {
  return [...(names ?? '').matchAll(/(?:DNS|IP Address):([^,]+)/g)].map(([, host]) => host!)
}
