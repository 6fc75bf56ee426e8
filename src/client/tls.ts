/** Credentials as the sockets of Node take them. Nothing here is kept. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { refuseConnection } from './connection-checks.ts'
import { toPem } from './credential-files.ts'
import type { ConnectionInfoOptions } from './credentials.ts'

export interface TlsOptions {
  readonly rejectUnauthorized: boolean
  readonly servername?: string
  readonly secureContext: SecureContext
}

/** Of credentials whose files have been read. */
export function toTlsOptions(options: ConnectionInfoOptions): TlsOptions {
  return {
    rejectUnauthorized: options.insecure !== true,
    ...(options.tlsServerName === undefined ? {} : { servername: options.tlsServerName }),
    secureContext: toSecureContext(options),
  }
}

/** Made once: as plain options, the certificates would be parsed for each connection and hashed for each request. */
function toSecureContext({ caData, certificateData, privateKeyData }: ConnectionInfoOptions): SecureContext {
  const ca = checkPem('caData', caData)
  const cert = checkPem('certificateData', certificateData)
  const key = checkPem('privateKeyData', privateKeyData)
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return refuseConnection(
      `a certificate or a private key in it cannot be read, or they do not belong together (${code})`,
    )
  }
}

function checkPem(name: string, data: string | undefined): string | undefined {
  return data && (toPem(data) ?? refuseConnection(`\`${name}\` is neither PEM nor base64 of PEM`))
}
