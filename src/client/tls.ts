/** Credentials as the sockets of Node take them. Read once, when a transport is made; nothing here is kept. */
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import { KopfError } from '../errors.ts'
import type { ConnectionInfoOptions } from './credentials.ts'

export interface TlsOptions {
  readonly rejectUnauthorized: boolean
  readonly servername?: string
  readonly secureContext: SecureContext
}

export function toTlsOptions(options: ConnectionInfoOptions): TlsOptions {
  return {
    rejectUnauthorized: options.insecure !== true,
    ...(options.tlsServerName === undefined ? {} : { servername: options.tlsServerName }),
    secureContext: toSecureContext(options),
  }
}

/** Made once: as plain options, the certificates would be parsed for each connection and hashed for each request. */
function toSecureContext(options: ConnectionInfoOptions): SecureContext {
  const ca = readPem('caData', options.caData, options.caPath)
  const cert = readPem('certificateData', options.certificateData, options.certificatePath)
  const key = readPem('privateKeyData', options.privateKeyData, options.privateKeyPath)
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return refuse(`a certificate or a private key in it cannot be read, or they do not belong together (${code})`)
  }
}

/** The value of the `Authorization` header; undefined where nobody needs one. */
export function toAuthorization({ token, scheme, username, password = '' }: ConnectionInfoOptions): string | undefined {
  if (token !== undefined) return `${scheme ?? 'Bearer'} ${token}`
  if (username !== undefined) return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return scheme
}

const begin = '-----BEGIN '

function readPem(name: string, data: string | undefined, path: string | undefined): string | undefined {
  if (data !== undefined) return toPem(data) ?? refuse(`\`${name}\` is neither PEM nor base64 of PEM`)
  if (path === undefined) return undefined
  return toPem(readFile(path)) ?? refuse(`the file "${path}" is not PEM`)
}

function toPem(text: string): string | undefined {
  if (text.includes(begin)) return text
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  return decoded.includes(begin) ? decoded : undefined
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'ENOENT' ? 'is not there' : code === 'EACCES' ? 'may not be read by this user' : `gives ${code}`
    return refuse(`the file "${path}" ${why}`, error)
  }
}

function refuse(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_CONNECTION_INFO', `Cannot use the connection info: ${why}`, { cause })
}
