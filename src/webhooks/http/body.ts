/** Reads the body of a request, bounded. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { WebhookError } from '../../errors.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'

/** Told of every piece; throws what to refuse the request with where it is too much together with what else is kept. After that,
 * nothing more of the body is kept. */
type CountBytes = (count: number) => void

/**
 * What is too much is refused as soon as that is known. The rest of it is read all the same, and forgotten: so the client,
 * which may first send and then listen, hears the answer; how long it may go on is limited by listener.ts.
 */
export function readBody(request: IncomingMessage, maxBytes: number, countBytes: CountBytes): Promise<Buffer> {
  const tooLarge = () => new WebhookError(413, `the body is larger than ${maxBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const fail = (error: unknown) => {
      request.off('data', onData).resume()
      chunks.length = 0
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) return fail(tooLarge())
      try {
        countBytes(chunk.length)
      } catch (error) {
        return fail(error)
      }
      chunks.push(chunk)
    }
    request.on('data', onData)
    request.on('end', () => {
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
      // The listeners live for as long as the request, and must not keep the pieces for so long.
      chunks.length = 0
    })
    // Whoever hangs up is noticed where the answer is sent.
    request.on('error', reject)
  })
}

/** Who is at the other end of a connection, by a client certificate that was verified. Read once for each connection. */

/** On the socket itself: a connection has one peer for all its life, and reading a certificate is dear. */
const peer: unique symbol = Symbol('kopf.sslpeer')

type KnownPeer = Partial<TLSSocket> & { [peer]?: SslPeer }

/** Undefined where nobody has shown a certificate, or none that counts. */
export function readSslPeer(socket: Socket): SslPeer | undefined {
  const known = socket as KnownPeer
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
