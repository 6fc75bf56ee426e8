/** Reads the body of a webhook request up to a limit, and the client certificate of its connection. Called by review-request.ts and exchange.ts. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { WebhookError } from '../../errors.ts'
import type { SslPeer } from '../../settings/webhook-server.ts'

/** Called for every chunk. Throws the error for the response if all buffered bodies together are too large; the rest of the body is then dropped. */
type CountBytes = (count: number) => void

/**
 * Rejects as soon as the body is too large. The rest of the body is still read and dropped, since many clients read the response only after they have
 * sent the whole body; listener.ts limits the time for that.
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
      // Frees the chunks: the listeners, which refer to them, live as long as the request.
      chunks.length = 0
    })
    // A disconnect of the client is handled by review-request.ts, when the response closes.
    request.on('error', reject)
  })
}

/** The key of the certificate on its socket: it never changes during a connection, and reading it is slow. */
const peer: unique symbol = Symbol('kopf.sslpeer')

type SocketWithPeer = Partial<TLSSocket> & { [peer]?: SslPeer }

/** The verified client certificate of a connection; undefined if the client has presented none, or an invalid one. Read once for each connection. */
export function readSslPeer(socket: Socket): SslPeer | undefined {
  const known = socket as SocketWithPeer
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

/** The attributes of a name. An attribute with several values, such as `O`, is a list. */
function toNames(names: object): Readonly<Record<string, string | readonly string[]>> {
  return { ...(names as Record<string, string | string[]>) }
}
