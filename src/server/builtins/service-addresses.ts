/**
 * Gives out cluster IPs and node ports as the real server does from its ranges: no two services of one server get the
 * same while there are any left. The address follows from the name, so that tests see the same one again.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { ServiceSpec } from './kinds/services.ts'

/** 10.0.0.0/24 without the network, the first (the API's own) and the broadcast address. */
const addressCount = 253
const firstNodePort = 30_000
const nodePortCount = 2_768

/** What was given out to whom; asked for again, it is given again. */
type Ledger = Map<number, string>

export function createServiceAllocator(): (service: KubeObject) => void {
  const addresses: Ledger = new Map()
  const nodePorts: Ledger = new Map()
  return (service) => {
    const spec = service['spec'] as Partial<ServiceSpec>
    const owner = `${service.metadata.namespace}/${service.metadata.name}`
    if (spec.type === 'ExternalName') return
    if (!spec.clusterIP) {
      spec.clusterIP = `10.0.0.${take(addresses, owner, addressCount) + 2}`
      spec.clusterIPs = [spec.clusterIP]
    }
    fillFamilies(spec)
    if (!needsNodePorts(spec)) return
    for (const port of spec.ports ?? []) {
      port.nodePort ||= firstNodePort + take(nodePorts, `${owner}/${port.protocol}/${port.port}`, nodePortCount)
    }
  }
}

function needsNodePorts({ type, allocateLoadBalancerNodePorts }: Partial<ServiceSpec>): boolean {
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
}

/** A service without addresses and without a selector may serve either family: its endpoints are not known. */
function fillFamilies(spec: Partial<ServiceSpec>): void {
  const isOpen = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0
  spec.ipFamilyPolicy ??= isOpen ? 'RequireDualStack' : 'SingleStack'
  if ((spec.ipFamilies ?? []).length > 0) return
  const family = spec.clusterIP?.includes(':') ? 'IPv6' : 'IPv4'
  spec.ipFamilies = isOpen ? ['IPv4', 'IPv6'] : [family]
}

function take(ledger: Ledger, owner: string, count: number): number {
  const start = hash(owner) % count
  for (let step = 0; step < count; step += 1) {
    const number = (start + step) % count
    const holder = ledger.get(number)
    if (holder !== undefined && holder !== owner) continue
    ledger.set(number, owner)
    return number
  }
  // All are taken, some perhaps by services long gone: an address twice is better than no service.
  return start
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  return value
}
