/**
 * Finds the proxy for a connection: `proxyUrl`, or with `trustEnv` the variables `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. Called by
 * transport.ts and cluster-flavour.ts. One of the few files that may read the environment.
 */
import { BlockList, isIP } from 'node:net'
import { toHost } from '../../util/text/hosts.ts'
import type { ConnectionInfoOptions } from '../auth/connection-info.ts'
import { throwConnectionInfoError } from '../auth/connection-info-checks.ts'

export function findProxy({ server, proxyUrl, trustEnv }: ConnectionInfoOptions): URL | undefined {
  if (proxyUrl !== undefined) return new URL(proxyUrl)
  if (trustEnv !== true) return undefined
  const url = new URL(server)
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const address = readVariable(name)
  if (address === undefined || isExempt(url, readVariable('NO_PROXY') ?? '')) return undefined
  const full = address.includes('://') ? address : `http://${address}`
  if (/^https?:/.test(full) && URL.canParse(full)) return new URL(full)
  return throwConnectionInfoError(
    `${name} of the environment is not the address of an HTTP proxy; expected http://host:port`,
  )
}

/** Prefers the name in lower case, as curl does. An empty variable counts as not set. */
function readVariable(name: string): string | undefined {
  return process.env[name.toLowerCase()] || process.env[name] || undefined
}

/** Whether `NO_PROXY` lists the host: domains (with subdomains), addresses and CIDR ranges, each optionally with a port, or `*`. */
export function isExempt(url: URL, list: string): boolean {
  const host = toHost(url).toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => entry === '*' || matchesEntry(entry, host, port))
}

function matchesEntry(entry: string, host: string, port: string): boolean {
  if (entry.includes('/')) return isInRange(entry, host)
  const [, name = entry, portOfEntry] = /^(.*?|\[.*\])(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? []
  if (portOfEntry !== undefined && portOfEntry !== port) return false
  const suffix = name.replace(/^\*?\.|^\[|\]$/g, '')
  return host === suffix || (isIP(host) === 0 && host.endsWith(`.${suffix}`))
}

function isInRange(range: string, host: string): boolean {
  const [address = '', bits = ''] = range.split('/')
  const [family, hostFamily] = [isIP(address), isIP(host)]
  if (family === 0 || family !== hostFamily || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) {
    return false
  }
  const type = family === 4 ? 'ipv4' : 'ipv6'
  const ranges = new BlockList()
  ranges.addSubnet(address, Number(bits), type)
  return ranges.check(host, type)
}
