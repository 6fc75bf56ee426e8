/**
 * Parses the address of an HTTP endpoint of the operator: health, metrics, dashboard. Called where options are read, and before an endpoint is
 * started. Does not resolve names.
 */
import { isIPv6 } from 'node:net'
import { toUrlHost } from '../util/text/hosts.ts'

export interface ServingAddress {
  readonly scheme: 'http' | 'https'
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Percent-encoded, as it is in requests; begins with a slash. */
  readonly path: string
}

export interface AddressDefaults {
  readonly defaultPort: number
  /** Default: `/`. */
  readonly defaultPath?: string
  /** The host of addresses without one, such as `:8443`. Default: all IPv4 addresses of the machine, as in Go programs. */
  readonly defaultHost?: string
  /** Called with what is wrong, as a clause. */
  readonly fail: (why: string) => never
}

/** The address of the metrics endpoint, where it is not given. */
export const metricsDefaults = { defaultPort: 8443, defaultPath: '/metrics' } as const

/** The address of the dashboard, where it is not given. */
export const dashboardDefaults = { defaultPort: 8444 } as const

/** `URL` cannot parse these addresses: without a host, it throws or takes the path for the host. */
const pattern =
  /^(?:(?<scheme>[a-z][a-z\d+.-]*):\/\/)?(?![a-z][a-z\d+.-]*:\/\/)(?<host>\[[^\]]*\]|[^:/?#@[\]\s]*)(?::(?<port>\d*))?(?<path>\/[^?#]*)?$/i

/**
 * Accepts `PORT`, `:PORT`, `HOST`, `HOST:PORT` and `http(s)://HOST:PORT/path`, each with or without a path. Without a scheme, a loopback host is
 * served over HTTP, and every other host over HTTPS.
 */
export function parseEndpointAddress(
  text: string,
  { defaultPort, defaultPath = '/', defaultHost = '0.0.0.0', fail }: AddressDefaults,
): ServingAddress {
  const example = `such as :${defaultPort}, localhost:${defaultPort} or https://0.0.0.0:${defaultPort}${defaultPath}`
  const parts = pattern.exec(text)?.groups
  if (text === '' || parts === undefined) return fail(`expected an address ${example}`)
  const isPortOnly = parts['scheme'] === undefined && /^\d+$/.test(parts['host']!) && parts['port'] === undefined
  const port = (isPortOnly ? parts['host'] : parts['port']) || String(defaultPort)
  if (Number(port) > 65_535) fail('a port is a number up to 65535')
  const host = (isPortOnly ? '' : parts['host']!.replace(/^\[|\]$/g, '')) || defaultHost
  if (parts['host']!.startsWith('[') && !isIPv6(host)) fail(`"${host}" in brackets is not an IPv6 address`)
  const scheme = parts['scheme']?.toLowerCase() ?? (isLoopbackHost(host) ? 'http' : 'https')
  if (scheme !== 'http' && scheme !== 'https')
    return fail(`only http and https are served; expected an address ${example}`)
  return { scheme, host, port: Number(port), path: toRequestPath(parts['path'] ?? defaultPath) }
}

/** The percent-encoded path, as it is in requests. */
function toRequestPath(path: string): string {
  return new URL(`http://localhost${path}`).pathname
}

export function formatEndpointAddress({ scheme, host, port, path }: ServingAddress): string {
  return `${scheme}://${toUrlHost(host)}:${port}${path}`
}

/** Whether only programs on this machine can connect to the host: its name or address is one of the loopback interface. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host)
}

/** Whether an IP address belongs to the loopback interface. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address)
}

/** The name in a `Host` header, without the port, in lower case. Undefined if the header is missing or malformed. */
export function toHostName(header: string | undefined): string | undefined {
  const name = /^(\[[^\]]*\]|[^:]*)(:\d*)?$/.exec(header ?? '')?.[1]?.toLowerCase()
  return name === '' ? undefined : name?.replace(/^\[|\]$/g, '')
}
