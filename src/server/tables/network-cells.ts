/** Cells of services, endpoints, ingresses and network policies. */
import type { KubeObject } from '../../kube/objects.ts'
import {
  at,
  entryAt,
  formatLabels,
  formatSome,
  listAt,
  mapAt,
  numberAt,
  selector,
  type TableCells,
  text,
  textAt,
} from './cells.ts'

const shown = 3

function loadBalancerAddresses(object: KubeObject): string[] {
  const addresses = listAt(object, 'status.loadBalancer.ingress').map((ingress) => {
    return textAt(ingress, 'ip') || textAt(ingress, 'hostname')
  })
  return [...new Set(addresses.filter((address) => address !== ''))].sort()
}

function externalAddress(service: KubeObject): string {
  const external = listAt(service, 'spec.externalIPs').map(String)
  switch (textAt(service, 'spec.type')) {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || '<none>'
    case 'LoadBalancer':
      return [...loadBalancerAddresses(service), ...external].join(',') || '<pending>'
    case 'ExternalName':
      return textAt(service, 'spec.externalName')
    default:
      return '<unknown>'
  }
}

function formatPort(port: unknown): string {
  const nodePort = numberAt(port, 'nodePort')
  const node = nodePort > 0 ? `:${nodePort}` : ''
  return `${numberAt(port, 'port')}${node}/${textAt(port, 'protocol')}`
}

function formatEndpoints(endpoints: KubeObject): string {
  const subsets = listAt(endpoints, 'subsets')
  if (subsets.length === 0) return '<none>'
  const addresses = subsets.flatMap((subset) => {
    const ips = listAt(subset, 'addresses').map((address) => textAt(address, 'ip'))
    const ports = listAt(subset, 'ports')
    // Without ports, as for headless services, only addresses are shown.
    return ports.length === 0 ? ips : ports.flatMap((port) => ips.map((ip) => joinHostPort(ip, numberAt(port, 'port'))))
  })
  return formatSome(addresses, shown)
}

function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function formatSlicePorts(slice: KubeObject): string {
  const ports = listAt(slice, 'ports').map((port) => String(at(port, 'port') ?? at(port, 'name') ?? '*'))
  return formatSome(ports, shown) || '<unset>'
}

function formatSliceEndpoints(slice: KubeObject): string {
  const addresses = listAt(slice, 'endpoints').flatMap((endpoint) => listAt(endpoint, 'addresses').map(String))
  return formatSome(addresses, shown) || '<unset>'
}

/** The omitted hosts are counted as rules, like in kube-apiserver. */
function formatHosts(ingress: KubeObject): string {
  const rules = listAt(ingress, 'spec.rules')
  const hosts: string[] = []
  for (const rule of rules) {
    if (hosts.length === shown) return `${hosts.join(',')} + ${rules.length - shown} more...`
    const host = textAt(rule, 'host')
    if (host !== '') hosts.push(host)
  }
  return hosts.join(',') || '*'
}

function formatParameters(ingressClass: KubeObject): string {
  const parameters = at(ingressClass, 'spec.parameters')
  if (parameters === undefined) return '<none>'
  const group = at(parameters, 'apiGroup')
  return `${textAt(parameters, 'kind')}${group === undefined ? '' : `.${group}`}/${textAt(parameters, 'name')}`
}

function formatParent(address: KubeObject): string {
  const parent = at(address, 'spec.parentRef')
  if (parent === undefined) return '<none>'
  const [group, resource, namespace, name] = ['group', 'resource', 'namespace', 'name'].map((f) => textAt(parent, f))
  const subject = `${resource}${group === '' ? '' : `.${group}`}`.toLowerCase()
  return `${subject}${namespace === '' ? '' : `/${namespace}`}/${name}`
}

export const networkCells: TableCells = {
  '/services': {
    Type: text('spec.type'),
    'Cluster-IP': (service) =>
      String(listAt(service, 'spec.clusterIPs')[0] ?? (textAt(service, 'spec.clusterIP') || '<none>')),
    'External-IP': externalAddress,
    'Port(s)': (service) => listAt(service, 'spec.ports').map(formatPort).join(',') || '<none>',
    Selector: (service) => formatLabels(mapAt(service, 'spec.selector')),
  },
  '/endpoints': { Endpoints: formatEndpoints },
  'discovery.k8s.io/endpointslices': {
    AddressType: text('addressType'),
    Ports: formatSlicePorts,
    Endpoints: formatSliceEndpoints,
  },
  'networking.k8s.io/ingresses': {
    Class: (ingress) => String(at(ingress, 'spec.ingressClassName') ?? '<none>'),
    Hosts: formatHosts,
    Address: (ingress) => loadBalancerAddresses(ingress).join(','),
    Ports: (ingress) => (listAt(ingress, 'spec.tls').length === 0 ? '80' : '80, 443'),
  },
  'networking.k8s.io/ingressclasses': {
    Name: (ingressClass) => {
      const name = ingressClass.metadata.name ?? ''
      const annotation = entryAt(ingressClass, 'metadata.annotations', 'ingressclass.kubernetes.io/is-default-class')
      return annotation === 'true' ? `${name} (default)` : name
    },
    Controller: text('spec.controller'),
    Parameters: formatParameters,
  },
  'networking.k8s.io/networkpolicies': { 'Pod-Selector': selector('spec.podSelector') },
  'networking.k8s.io/servicecidrs': { CIDRs: (range) => listAt(range, 'spec.cidrs').join(',') },
  'networking.k8s.io/ipaddresses': { ParentRef: formatParent },
}
