/** Validates the options of `ConnectionInfo`. Called by its constructor and by http/. Messages never contain a secret. */
import { isIPv4 } from 'node:net'
import { KopfError } from '../../errors.ts'
import type { ConnectionInfoOptions, Impersonation } from './connection-info.ts'

export function checkConnection(options: ConnectionInfoOptions): void {
  checkServer(options.server)
  checkPairs(options)
  checkHeaders(options)
  checkPlainHttp(options, options.proxyUrl !== undefined)
  if (options.proxyUrl !== undefined) checkProxy(options.proxyUrl)
  if (options.expiration !== undefined) checkExpiration(options.expiration)
}

export function throwConnectionInfoError(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_CONNECTION_INFO', `Cannot use the connection info: ${why}`, { cause })
}

function checkServer(server: unknown): void {
  const expected = 'expected an address such as "https://10.0.0.1:6443"'
  if (typeof server !== 'string') throwConnectionInfoError(`\`server\` is missing; ${expected}`)
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url?.username || url?.password) {
    throwConnectionInfoError('`server` has credentials in it; put them into `username` and `password`')
  }
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throwConnectionInfoError(`\`server\` is ${JSON.stringify(server)}; ${expected}`)
  }
}

const eitherOr = [
  ['caPath', 'caData'],
  ['certificatePath', 'certificateData'],
  ['privateKeyPath', 'privateKeyData'],
  ['token', 'username'],
  ['tokenPath', 'username'],
] as const

function checkPairs(options: ConnectionInfoOptions): void {
  for (const [one, other] of eitherOr) {
    if (options[one] !== undefined && options[other] !== undefined) {
      throwConnectionInfoError(`both \`${one}\` and \`${other}\` are given; give one of them`)
    }
  }
  const hasCertificate = (options.certificatePath ?? options.certificateData) !== undefined
  const hasKey = (options.privateKeyPath ?? options.privateKeyData) !== undefined
  if (hasCertificate !== hasKey) {
    const missing = hasCertificate ? 'private key' : 'certificate'
    throwConnectionInfoError(`the client certificate has no ${missing}; give both or none`)
  }
}

/**
 * Throws for credentials with plain HTTP, which can be read in transit, except for a loopback address. Through a proxy, a loopback
 * address means the proxy's machine. kubectl omits the credentials in this case, and the request becomes anonymous; an error is
 * clearer. Client certificates need TLS, so they are never sent over HTTP.
 */
export function checkPlainHttp(options: ConnectionInfoOptions, isProxied: boolean): void {
  const { protocol, host, hostname } = new URL(options.server)
  const { token, tokenPath, username, scheme } = options
  if (protocol === 'https:' || (token ?? tokenPath ?? username ?? scheme) === undefined) return
  if (!isProxied && isLoopback(hostname)) return
  const where = isProxied ? `http://${host} through a proxy` : `http://${host}`
  throwConnectionInfoError(
    `credentials are not sent to ${where}, as plain HTTP lets others read them; use an https:// address, or give no ` +
      'token and no username',
  )
}

function isLoopback(hostname: string): boolean {
  const isName = hostname === 'localhost' || hostname.endsWith('.localhost')
  return isName || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** Checks values of headers early; Node throws only when the first request is sent. */
function checkHeaders({ token, scheme, impersonate }: ConnectionInfoOptions): void {
  for (const [name, value] of Object.entries({ token, scheme })) {
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value)) {
      throwConnectionInfoError(
        `\`${name}\` is empty or has spaces, line breaks or other characters that cannot be sent`,
      )
    }
  }
  if (impersonate !== undefined) checkImpersonation(impersonate)
}

function checkImpersonation({ user, uid, groups = [], extra = {} }: Impersonation): void {
  // The API server rejects other impersonation headers without a user.
  if (typeof user !== 'string' || user === '')
    throwConnectionInfoError('`impersonate` has no `user`; name the user to impersonate')
  const texts = [user, ...(uid === undefined ? [] : [uid]), ...groups, ...Object.values(extra).flat()]
  if (!texts.every((text) => typeof text === 'string' && /^[\x20-\x7e]*$/.test(text))) {
    throwConnectionInfoError('`impersonate` has line breaks or other characters that cannot be sent')
  }
}

function checkProxy(proxyUrl: string): void {
  const protocol = URL.canParse(proxyUrl) ? new URL(proxyUrl).protocol : ''
  if (protocol === 'http:' || protocol === 'https:') return
  const what = protocol.startsWith('socks')
    ? 'is that of a SOCKS proxy, which is not supported'
    : 'is not a valid address'
  throwConnectionInfoError(`\`proxyUrl\` ${what}; expected an HTTP proxy such as "http://proxy.example.com:3128"`)
}

function checkExpiration(expiration: unknown): void {
  if (expiration instanceof Date && !Number.isNaN(expiration.getTime())) return
  throwConnectionInfoError('`expiration` is not a date; expected a value such as new Date(Date.now() + 3_600_000)')
}
