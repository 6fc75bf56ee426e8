/** Who is at the other end of a connection, by a client certificate that was verified. Read once for each connection. */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { SslPeer } from '../core/webhook-server.ts'

/** On the socket itself: a connection has one peer for all its life, and reading a certificate is dear. */
const peer: unique symbol = Symbol('kopf.sslpeer')

type Known = Partial<TLSSocket> & { [peer]?: SslPeer }

/** Undefined where nobody has shown a certificate, or none that counts. */
export function readSslPeer(socket: Socket): SslPeer | undefined {
  const known = socket as Known
  if (known.authorized !== true) return undefined
  known[peer] ??= toSslPeer(socket as TLSSocket)
  return known[peer]
}

function toSslPeer(socket: TLSSocket): SslPeer {
  const certificate = socket.getPeerCertificate()
  return {
    subject: toNames(certificate.subject),
    issuer: toNames(certificate.issuer),
    subjectAltName: certificate.subjectaltname,
    serialNumber: certificate.serialNumber,
    notBefore: certificate.valid_from,
    notAfter: certificate.valid_to,
    fingerprint256: certificate.fingerprint256,
  }
}

/** Those of several values, such as organizations, are lists. */
function toNames(names: object): Readonly<Record<string, string | readonly string[]>> {
  return { ...(names as Record<string, string | string[]>) }
}
