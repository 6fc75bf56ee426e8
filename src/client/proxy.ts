/**
 * Which proxy is on the way to the server, if any: the one that is named, else, where the environment is trusted, that of its
 * variables. One of the few files that may read the environment.
 */
import { BlockList, isIP } from 'node:net'
import { refuseConnection } from './connection-checks.ts'
import type { ConnectionInfoOptions } from './credentials.ts'

export function findProxy({ server, proxyUrl, trustEnv }: ConnectionInfoOptions): URL | undefined {
  if (proxyUrl !== undefined) return new URL(proxyUrl)
  if (trustEnv !== true) return undefined
  const url = new URL(server)
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const address = variable(name)
  if (address === undefined || isExempt(url, variable('NO_PROXY') ?? '')) return undefined
  const full = address.includes('://') ? address : `http://${address}`
  if (/^https?:/.test(full) && URL.canParse(full)) return new URL(full)
  return refuseConnection(`${name} of the environment is not the address of an HTTP proxy; expected http://host:port`)
}

/** In lower case first, as curl does; what is empty is not set. */
function variable(name: string): string | undefined {
  return process.env[name.toLowerCase()] || process.env[name] || undefined
}

/** `NO_PROXY`: names with all that is below them, addresses, ranges of addresses, each with or without a port; `*` for all. */
export function isExempt(url: URL, list: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => entry === '*' || isMeant(entry, host, port))
}

function isMeant(entry: string, host: string, port: string): boolean {
  if (entry.includes('/')) return isInRange(entry, host)
  const [, name = entry, portOfEntry] = /^(.*?|\[.*\])(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? []
  if (portOfEntry !== undefined && portOfEntry !== port) return false
  const bare = name.replace(/^\*?\.|^\[|\]$/g, '')
  return host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`))
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
