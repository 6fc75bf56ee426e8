/** What a `ConnectionInfo` must be to work at all; said before anybody connects. Messages never repeat a secret. */
import { isIPv4 } from 'node:net'
import { KopfError } from '../errors.ts'
import type { ConnectionInfoOptions, Impersonation } from './credentials.ts'

export function checkConnection(options: ConnectionInfoOptions): void {
  checkServer(options.server)
  checkPairs(options)
  checkHeaders(options)
  checkPlainHttp(options, options.proxyUrl !== undefined)
  if (options.proxyUrl !== undefined) checkProxy(options.proxyUrl)
  if (options.expiration !== undefined) checkExpiration(options.expiration)
}

export function refuseConnection(why: string, cause?: unknown): never {
  throw new KopfError('KOPF_CONNECTION_INFO', `Cannot use the connection info: ${why}`, { cause })
}

function checkServer(server: unknown): void {
  const expected = 'expected an address such as "https://10.0.0.1:6443"'
  if (typeof server !== 'string') refuseConnection(`\`server\` is missing; ${expected}`)
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url?.username || url?.password) {
    refuseConnection('`server` has credentials in it; put them into `username` and `password`')
  }
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    refuseConnection(`\`server\` is ${JSON.stringify(server)}; ${expected}`)
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
      refuseConnection(`both \`${one}\` and \`${other}\` are given; give one of them`)
    }
  }
  const hasCertificate = (options.certificatePath ?? options.certificateData) !== undefined
  const hasKey = (options.privateKeyPath ?? options.privateKeyData) !== undefined
  if (hasCertificate !== hasKey) {
    const missing = hasCertificate ? 'private key' : 'certificate'
    refuseConnection(`the client certificate has no ${missing}; give both or none`)
  }
}

/**
 * Credentials are not sent over plain HTTP, where everybody on the way can read them, except to this machine itself. An address of
 * this machine means the proxy's machine where there is a proxy. kubectl leaves the credentials out in this case, and the server
 * then treats the request as anonymous; an error says what is wrong. Client certificates need TLS and are never sent over HTTP.
 */
export function checkPlainHttp(options: ConnectionInfoOptions, isProxied: boolean): void {
  const { protocol, host, hostname } = new URL(options.server)
  const { token, tokenPath, username, scheme } = options
  if (protocol === 'https:' || (token ?? tokenPath ?? username ?? scheme) === undefined) return
  if (!isProxied && isLoopback(hostname)) return
  const where = isProxied ? `http://${host} through a proxy` : `http://${host}`
  refuseConnection(
    `credentials are not sent to ${where}, as plain HTTP lets others read them; use an https:// address, or give no ` +
      'token and no username',
  )
}

function isLoopback(hostname: string): boolean {
  const isName = hostname === 'localhost' || hostname.endsWith('.localhost')
  return isName || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** Node refuses such headers only when the first request is sent. */
function checkHeaders({ token, scheme, impersonate }: ConnectionInfoOptions): void {
  for (const [name, value] of Object.entries({ token, scheme })) {
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value)) {
      refuseConnection(`\`${name}\` is empty or has spaces, line breaks or other characters that cannot be sent`)
    }
  }
  if (impersonate !== undefined) checkImpersonation(impersonate)
}

function checkImpersonation({ user, uid, groups = [], extra = {} }: Impersonation): void {
  // The API server refuses the others where there is no user.
  if (typeof user !== 'string' || user === '') refuseConnection('`impersonate` has no `user`; say who to act as')
  const texts = [user, ...(uid === undefined ? [] : [uid]), ...groups, ...Object.values(extra).flat()]
  if (!texts.every((text) => typeof text === 'string' && /^[\x20-\x7e]*$/.test(text))) {
    refuseConnection('`impersonate` has line breaks or other characters that cannot be sent')
  }
}

function checkProxy(proxyUrl: string): void {
  const protocol = URL.canParse(proxyUrl) ? new URL(proxyUrl).protocol : ''
  if (protocol === 'http:' || protocol === 'https:') return
  const what = protocol.startsWith('socks') ? 'is that of a SOCKS proxy, which is not supported' : 'is no such address'
  refuseConnection(`\`proxyUrl\` ${what}; expected an HTTP proxy such as "http://proxy.example.com:3128"`)
}

function checkExpiration(expiration: unknown): void {
  if (expiration instanceof Date && !Number.isNaN(expiration.getTime())) return
  refuseConnection('`expiration` is no date; expected one such as new Date(Date.now() + 3_600_000)')
}
