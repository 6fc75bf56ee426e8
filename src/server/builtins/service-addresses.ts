/**
 * Allocates cluster IPs and node ports from the real server's ranges. Two services of a server never share one while any is
 * free. The allocation starts at a hash of the name, so that tests get the same address in each run.
 */
import type { KubeObject } from '../../kube/objects.ts'
import type { ServiceSpec } from './kinds/services.ts'

/** 10.0.0.0/24 without the network address, the first address (reserved for the API) and the broadcast address. */
const addressCount = 253
const firstNodePort = 30_000
const nodePortCount = 2_768

/** Allocated number → owner. An owner that allocates again gets the same number. */
type Allocations = Map<number, string>

export function createServiceAllocator(): (service: KubeObject) => void {
  const addresses: Allocations = new Map()
  const nodePorts: Allocations = new Map()
  return (service) => {
    const spec = service['spec'] as Partial<ServiceSpec>
    const owner = `${service.metadata.namespace}/${service.metadata.name}`
    if (spec.type === 'ExternalName') return
    if (!spec.clusterIP) {
      spec.clusterIP = `10.0.0.${allocateNumber(addresses, owner, addressCount) + 2}`
      spec.clusterIPs = [spec.clusterIP]
    }
    fillFamilies(spec)
    if (!needsNodePorts(spec)) return
    for (const port of spec.ports ?? []) {
      port.nodePort ||=
        firstNodePort + allocateNumber(nodePorts, `${owner}/${port.protocol}/${port.port}`, nodePortCount)
    }
  }
}

function needsNodePorts({ type, allocateLoadBalancerNodePorts }: Partial<ServiceSpec>): boolean {
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
}

/** A headless service without a selector is dual-stack, since the family of its endpoints is not known. */
function fillFamilies(spec: Partial<ServiceSpec>): void {
  const isOpen = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0
  spec.ipFamilyPolicy ??= isOpen ? 'RequireDualStack' : 'SingleStack'
  if ((spec.ipFamilies ?? []).length > 0) return
  const family = spec.clusterIP?.includes(':') ? 'IPv6' : 'IPv4'
  spec.ipFamilies = isOpen ? ['IPv4', 'IPv6'] : [family]
}

function allocateNumber(allocations: Allocations, owner: string, count: number): number {
  const start = hash(owner) % count
  for (let step = 0; step < count; step += 1) {
    const number = (start + step) % count
    const holder = allocations.get(number)
    if (holder !== undefined && holder !== owner) continue
    allocations.set(number, owner)
    return number
  }
  // The range is exhausted, possibly by deleted services: a shared address is better than a rejected service.
  return start
}

function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  return value
}
