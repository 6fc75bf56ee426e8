/**
 * The certificate that the API server shows to whoever connects: a handshake and not a word more, no credentials but those
 * of TLS. Beside transport.ts the one place that opens a connection to the API server. Asked by cluster-signs.ts.
 */
import type { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { readCredentialFiles } from './credential-files.ts'
import type { ConnectionInfo } from './credentials.ts'
import { findProxy } from './proxy.ts'
import { toTlsOptions } from './tls.ts'
import { openTunnel } from './tunnel.ts'

/** Silence for so long in the middle of a handshake is a failure. */
const patienceMs = 10_000

/** Undefined where the connection is not encrypted; rejects where the server cannot be reached or is not trusted. */
export async function readPeerCertificate(
  connection: ConnectionInfo,
  signal: AbortSignal,
): Promise<X509Certificate | undefined> {
  signal.throwIfAborted()
  const options = readCredentialFiles(connection).reveal()
  const url = new URL(options.server)
  if (url.protocol !== 'https:') return undefined
  const target = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 443) }
  const proxy = findProxy(options)
  const way = proxy && { socket: await openTunnel(proxy, target, signal) }
  const socket = connect({ ...toTlsOptions(options), ...target, ...way, timeout: patienceMs })
  const interrupt = () => socket.destroy(signal.reason)
  signal.addEventListener('abort', interrupt, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      socket.once('secureConnect', () => resolve(socket.getPeerX509Certificate()))
      socket.once('timeout', () => reject(new Error(`no handshake within ${patienceMs / 1000} seconds`)))
      socket.once('close', () => reject(signal.reason ?? new Error('closed in the middle of the handshake')))
      socket.on('error', reject)
    })
  } finally {
    signal.removeEventListener('abort', interrupt)
    socket.destroy()
  }
}
