/**
 * The cluster of a command in words, and whether it is a local one. `kopf dev` runs with a priority that pauses other operators of its
 * peering, so that the user confirms a cluster that others may use. Pure.
 */
import { toHost } from '../util/text/hosts.ts'
import { printable } from './terminal.ts'

export interface ClusterPlace {
  /** The address of the API server. */
  readonly server: string
  /** The context of the kubeconfig; undefined in a pod. */
  readonly context?: string | undefined
}

/** `https://10.0.0.1:6443 (context staging)`, without credentials in the address. */
export function describePlace({ server, context }: ClusterPlace): string {
  return printable(`${withoutCredentials(server)}${context === undefined ? '' : ` (context ${context})`}`)
}

function withoutCredentials(server: string): string {
  if (!URL.canParse(server)) return 'its cluster'
  const { origin, pathname } = new URL(server)
  return `${origin}${pathname === '/' ? '' : pathname}`
}

/** Names that local clusters give to their contexts. */
const localContext =
  /^(kind|k3d|k3s|minikube|docker-desktop|docker-for-desktop|rancher-desktop|colima|orbstack|microk8s|podman|kwok)(-|$)/

const loopback =
  /^(localhost|.*\.localhost|127(\.\d+){3}|::1|0\.0\.0\.0|host\.docker\.internal|kubernetes\.docker\.internal)$/
/** Private networks: those of virtual machines and containers, but also those of companies. */
const privateNetwork =
  /^(10(\.\d+){3}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|192\.168(\.\d+){2}|f[cd][\da-f]{2}:.*|[^.:]+|.*\.(local|internal))$/

/** A server on this machine, or one in a private network whose context has the name of a local cluster. */
export function isLocalCluster({ server, context = '' }: ClusterPlace): boolean {
  if (!URL.canParse(server)) return false
  const host = toHost(new URL(server)).toLowerCase()
  return loopback.test(host) || (privateNetwork.test(host) && localContext.test(context))
}
