/** Where a server listens, and by which names it is reached from elsewhere. Pure. */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { ClusterFlavour } from '../client/cluster-flavour.ts'
import { toUrlHost } from '../util/text/hosts.ts'

/**
 * By which name this machine reaches a server that listens there. Addresses that stand for all interfaces can be listened
 * on, and not be asked.
 */
export function toAccessibleAddr(addr: string | undefined): string {
  if (addr === undefined) return 'localhost'
  if (!isUnspecified(addr)) return addr
  return isIPv4(addr) ? '127.0.0.1' : '::1'
}

function isUnspecified(addr: string): boolean {
  return addr === '0.0.0.0' || (isIPv6(addr) && /^[0:]+$/.test(addr))
}

export interface UrlParts {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  readonly path: string
}

const defaultPorts = { http: 80, https: 443 }

export function toUrl({ scheme, host, port, path }: UrlParts): string {
  return `${scheme}://${toUrlHost(host)}${port === defaultPorts[scheme] ? '' : `:${port}`}${path}`
}

/** What a certificate is to be for: the first that is not an address names its owner, too. */
export interface Hosts {
  readonly commonName: string
  readonly hosts: readonly string[]
}

export function toHosts(names: readonly string[]): Hosts {
  const hosts = [...new Set(names.filter((name) => !isUnspecified(name)))]
  return { commonName: hosts.find((name) => isIP(name) === 0) ?? hosts[0]!, hosts }
}

/** With a slash at its beginning, and none at its end; nothing where there is nothing between. */
export function toRoot(path: string = ''): string {
  const inner = path.replace(/^\/+|\/+$/g, '')
  return inner === '' ? '' : `/${inner}`
}

/** Under which name a local cluster knows the machine that it runs on, told by the signs of its API server. Pure. */

export const k3dHost = 'host.k3d.internal'
export const minikubeHost = 'host.minikube.internal'
export const dockerDesktopHost = 'host.docker.internal'

/** Undefined where nothing tells. */
export function guessHost(flavour: ClusterFlavour): string | undefined {
  const { subjectCommonName, subjectOrganization, issuerCommonName = '', hosts, gitVersion = '' } = flavour
  if (subjectCommonName === 'k3s' || subjectOrganization === 'k3s' || issuerCommonName.startsWith('k3s-')) {
    return k3dHost
  }
  if (subjectCommonName === 'minikube' || issuerCommonName === 'minikubeCA') return minikubeHost
  if (hosts.includes('docker-for-desktop')) return dockerDesktopHost
  return gitVersion.includes('+k3s') ? k3dHost : undefined
}
