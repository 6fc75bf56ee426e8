/** Converts between the address on which a webhook server listens and the names by which clients reach it. Pure. */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import type { ClusterFlavour } from '../client/cluster-flavour.ts'
import { toUrlHost } from '../util/text/hosts.ts'

/** The address by which this machine reaches a server that listens on `addr`. Clients cannot connect to an unspecified address such as `0.0.0.0`. */
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

/** The names of a certificate. The common name is the first host that is not an IP address. */
export interface Hosts {
  readonly commonName: string
  readonly hosts: readonly string[]
}

export function toHosts(names: readonly string[]): Hosts {
  const hosts = [...new Set(names.filter((name) => !isUnspecified(name)))]
  return { commonName: hosts.find((name) => isIP(name) === 0) ?? hosts[0]!, hosts }
}

/** Normalizes the prefix of the webhook paths: a slash at its start and none at its end, or empty. */
export function toRoot(path: string = ''): string {
  const inner = path.replace(/^\/+|\/+$/g, '')
  return inner === '' ? '' : `/${inner}`
}

/** The names by which local clusters reach the machine that they run on. */
export const k3dHost = 'host.k3d.internal'
export const minikubeHost = 'host.minikube.internal'
export const dockerDesktopHost = 'host.docker.internal'

/** The name by which the cluster reaches this machine, from the certificate and the version of its API server. Undefined for an unknown cluster. */
export function guessHost(flavour: ClusterFlavour): string | undefined {
  const { subjectCommonName, subjectOrganization, issuerCommonName = '', hosts, gitVersion = '' } = flavour
  if (subjectCommonName === 'k3s' || subjectOrganization === 'k3s' || issuerCommonName.startsWith('k3s-')) {
    return k3dHost
  }
  if (subjectCommonName === 'minikube' || issuerCommonName === 'minikubeCA') return minikubeHost
  if (hosts.includes('docker-for-desktop')) return dockerDesktopHost
  return gitVersion.includes('+k3s') ? k3dHost : undefined
}
