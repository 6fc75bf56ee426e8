/**
 * Rejects requests from web pages to a server without credentials or with plain HTTP. A page in a browser on this machine can send
 * requests to a loopback port: to the address itself (cross-site request forgery), or by a host name that it resolves to 127.0.0.1
 * (DNS rebinding), which also lets it read the responses. Other clients send neither such hosts nor such headers.
 */
import { StatusError } from './status.ts'

type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** `localhost`, names below it, 127.0.0.0/8 and `[::1]`, with any port: a forwarded port has another number. */
const loopbackHost = /^(?:(?:[a-z\d-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** Values of `Sec-Fetch-Site` that are accepted. `none`: the address was typed in, or the client is not a page. */
const harmlessSites: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none'])

const remedy =
  'start the server without "--open" (in code: without "open" and "insecure") and use the credentials of its kubeconfig'

/** Returns the 403 for a request that may come from a web page of another origin; undefined if it cannot. */
export function refusalOfBrowser({ host, origin, 'sec-fetch-site': site }: IncomingHeaders): StatusError | undefined {
  // Browsers always send `Host`; HTTP/1.0 clients may omit it.
  if (host !== undefined && !loopbackHost.test(String(host))) {
    return forbidden(`this server answers to loopback names only, and the request is to "${host}"`)
  }
  if (origin !== undefined && !isOriginOf(String(origin), String(host))) {
    return forbidden(`the request comes from a web page of the origin "${origin}"`)
  }
  if (!harmlessSites.has(site)) return forbidden(`the request comes from a web page of another origin (${site})`)
  return undefined
}

function isOriginOf(origin: string, host: string): boolean {
  const lower = origin.toLowerCase()
  return lower === `http://${host.toLowerCase()}` || lower === `https://${host.toLowerCase()}`
}

function forbidden(why: string): StatusError {
  return new StatusError(403, 'Forbidden', `Cannot serve this request without credentials: ${why}; ${remedy}`)
}
