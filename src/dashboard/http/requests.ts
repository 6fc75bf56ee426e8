/** Reads and checks the parts of a request to the dashboard: its cookie, its origin, and its JSON body. */
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
