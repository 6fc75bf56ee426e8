/** Converts credentials into TLS options of Node's sockets. Called by transport.ts and cluster-flavour.ts; keeps nothing. */
import { createSecureContext, type SecureContext } from 'node:tls'
import type { ConnectionInfoOptions } from '../auth/connection-info.ts'
import { throwConnectionInfoError } from '../auth/connection-info-checks.ts'
import { toPem } from '../auth/credential-files.ts'

export interface TlsOptions {
  readonly rejectUnauthorized: boolean
  readonly servername?: string
  readonly secureContext: SecureContext
}

/** The options must have the contents of credential files, not their paths. */
export function toTlsOptions(options: ConnectionInfoOptions): TlsOptions {
  return {
    rejectUnauthorized: options.insecure !== true,
    ...(options.tlsServerName === undefined ? {} : { servername: options.tlsServerName }),
    secureContext: toSecureContext(options),
  }
}

/** A secure context is made once; plain options would be parsed for each connection and hashed for each request. */
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
    return throwConnectionInfoError(
      `a certificate or a private key in it cannot be read, or they do not belong together (${code})`,
    )
  }
}

function checkPem(name: string, data: string | undefined): string | undefined {
  return data && (toPem(data) ?? throwConnectionInfoError(`\`${name}\` is neither PEM nor base64 of PEM`))
}
