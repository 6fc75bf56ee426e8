/** The HTTP of the dashboard: reads and checks the cookie, the origin and the JSON body of a request, and has the headers of all answers. */
import type { IncomingMessage } from 'node:http'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { isDeeperThan } from '../../util/json/json-size.ts'
import { foreignRequest, invalidRequest } from '../problem.ts'

const maxBodyBytes = 64 * 1024
const maxBodyDepth = 32
/** Browsers send all cookies of a host, also those of other programs on this machine. */
const maxCookies = 100

/** The value of a cookie. Undefined if there is none, or if there are several, which another web site of the host may have set. */
export function readCookie({ headers: { cookie = '' } }: IncomingMessage, name: string): string | undefined {
  const values = cookie
    .split(';', maxCookies)
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]!.slice(name.length + 1) : undefined
}

/**
 * Refuses a request that another web site has caused. Browsers say so in `Sec-Fetch-Site`, which pages cannot set; for browsers without it, the host of `Origin` is
 * compared. A proxy names the host that the browser knows in `X-Forwarded-Host`, which no other web site can set without being asked for CORS.
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw foreignRequest('it comes from another web site; open the dashboard itself')
  }
  const { origin } = headers
  if (origin === undefined || site === 'same-origin') return
  const hosts = [headers.host, ...[headers['x-forwarded-host'] ?? []].flat()]
  if (!hosts.includes(hostOf(origin))) {
    throw foreignRequest('its Origin is another web site; open the dashboard itself')
  }
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

/** The JSON object in the body of a request. */
export async function readJson(request: IncomingMessage): Promise<{ readonly [key: string]: Json }> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';', 1)
  if (type.trim().toLowerCase() !== 'application/json') {
    throw invalidRequest(415, 'its content-type is not application/json')
  }
  const text = await readText(request)
  const value = isDeeperThan(text, maxBodyDepth) ? undefined : parse(text)
  if (!isPlainObject(value)) throw invalidRequest(400, 'its body is not a JSON object')
  return value
}

async function readText(request: IncomingMessage): Promise<string> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function tooLarge(): Error {
  return invalidRequest(413, `its body has more than ${maxBodyBytes / 1024} KiB`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Nothing is loaded from elsewhere, nothing is inline, and no other page can embed or read the dashboard. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-read=(), clipboard-write=(self)',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
}

/** Browsers accept a cookie with the prefix `__Host-` only from this host, over TLS, for all paths. */
export function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-kopf-dashboard' : 'kopf-dashboard'
}

export interface CookieOptions {
  readonly name: string
  readonly isSecure: boolean
  /** The browser forgets the cookie. */
  readonly isEnded?: boolean
}

export function toCookie(id: string, { name, isSecure, isEnded = false }: CookieOptions): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict']
  if (isSecure) attributes.push('Secure')
  if (isEnded) attributes.push('Max-Age=0')
  return [`${name}=${id}`, ...attributes].join('; ')
}
