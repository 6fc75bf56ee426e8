/** Rules for Service: validation, and the allocation of cluster IPs and node ports. */
import type { KubeObject } from '../../../kube/objects.ts'
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '../../field-errors.ts'
import { labelNameProblems, qualifiedNameProblems } from '../../names.ts'
import {
  checkLabel,
  checkLabels,
  checkOneOf,
  checkPort,
  checkSubdomain,
  type IntOrString,
  inFieldOrder,
  portProblems,
  problemsAt,
} from '../checks.ts'
import { createServiceAllocator } from '../service-addresses.ts'
import type { KindRules } from '../strategy.ts'
import { checkEndpointIp, checkIp } from '../validation/addresses.ts'
import { protocols } from '../validation/containers.ts'
import { isEqual, part } from '../values.ts'

interface ServicePort {
  name?: string
  protocol?: string
  port: number
  targetPort: IntOrString
  nodePort?: number
  appProtocol?: string
}

export interface ServiceSpec {
  type: string
  ports: ServicePort[]
  clusterIP: string
  clusterIPs: string[]
  externalIPs: string[]
  selector: Record<string, string>
  sessionAffinity: string
  sessionAffinityConfig: { clientIP?: { timeoutSeconds?: number } }
  externalName: string
  externalTrafficPolicy: string
  internalTrafficPolicy: string
  healthCheckNodePort: number
  ipFamilies: string[]
  ipFamilyPolicy: string
  loadBalancerSourceRanges: string[]
  allocateLoadBalancerNodePorts: boolean
  trafficDistribution: string
}

const specOf = (service: KubeObject): Partial<ServiceSpec> => part<ServiceSpec>(service, 'spec')
const isHeadless = ({ clusterIPs = [] }: Partial<ServiceSpec>): boolean =>
  clusterIPs.length === 1 && clusterIPs[0] === 'None'
const hasNodePorts = ({ type }: Partial<ServiceSpec>): boolean => type === 'NodePort' || type === 'LoadBalancer'
const isExternal = (spec: Partial<ServiceSpec>): boolean =>
  hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
const needsHealthCheck = (spec: Partial<ServiceSpec>): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'

/** `clusterIPs` defaults to `clusterIP`. */
function syncClusterIps(spec: Partial<ServiceSpec>): void {
  if (spec.clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP]
}

/** Keeps the allocated addresses and ports unless the new service type does not use them. */
function prepareForUpdate(service: KubeObject, old: KubeObject): void {
  const [spec, oldSpec] = [specOf(service), specOf(old)]
  const keepsIp = spec.type !== 'ExternalName' && oldSpec.type !== 'ExternalName'
  if (keepsIp && !spec.clusterIP) Object.assign(spec, { clusterIP: oldSpec.clusterIP })
  if (keepsIp && spec.clusterIP === oldSpec.clusterIP && !spec.clusterIPs?.length)
    spec.clusterIPs = oldSpec.clusterIPs ?? []
  if (oldSpec.type !== 'ExternalName' && spec.type === 'ExternalName')
    dropUnchanged(spec, oldSpec, ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'])
  if (hasNodePorts(oldSpec) && !hasNodePorts(spec)) for (const port of spec.ports ?? []) delete port.nodePort
  if (hasNodePorts(oldSpec) && hasNodePorts(spec)) keepNodePorts(spec, oldSpec)
  if (oldSpec.type === 'LoadBalancer' && spec.type !== 'LoadBalancer')
    dropUnchanged(spec, oldSpec, ['allocateLoadBalancerNodePorts'])
  if (isExternal(oldSpec) && !isExternal(spec)) dropUnchanged(spec, oldSpec, ['externalTrafficPolicy'])
  if (needsHealthCheck(oldSpec) && !needsHealthCheck(spec)) delete spec.healthCheckNodePort
  if (spec.type !== 'LoadBalancer') service['status'] = {}
}

function dropUnchanged(
  spec: Partial<ServiceSpec>,
  old: Partial<ServiceSpec>,
  fields: ReadonlyArray<keyof ServiceSpec>,
): void {
  for (const field of fields) if (isEqual(spec[field], old[field])) delete spec[field]
}

function keepNodePorts(spec: Partial<ServiceSpec>, old: Partial<ServiceSpec>): void {
  for (const port of spec.ports ?? []) {
    const same = (old.ports ?? []).find((other) => other.port === port.port && other.protocol === port.protocol)
    if (same?.nodePort) port.nodePort ||= same.nodePort
  }
}

function validate(service: KubeObject): FieldError[] {
  const spec = specOf(service)
  const ports = spec.ports ?? []
  const errors = ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName' ? [required('spec.ports')] : []
  const names = new Set<string>()
  return [
    ...errors,
    ...checkType(spec),
    ...ports.flatMap((port, index) => checkServicePort(`spec.ports[${index}]`, port, ports.length > 1, names)),
    ...checkLabels('spec.selector', spec.selector),
    ...checkOneOf('spec.sessionAffinity', spec.sessionAffinity, ['ClientIP', 'None']),
    ...checkAffinity(spec),
    ...checkClusterIps(spec),
    ...(spec.externalIPs ?? []).flatMap((ip, index) => checkExternalIp(`spec.externalIPs[${index}]`, ip)),
    ...checkOneOf('spec.type', spec.type, ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']),
    ...checkPortsTogether(spec),
    ...checkTraffic(spec),
  ]
}

function checkType(spec: Partial<ServiceSpec>): FieldError[] {
  if (hasNodePorts(spec) && isHeadless(spec)) {
    return [invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`)]
  }
  if (spec.type !== 'ExternalName') return []
  const set = (['clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const).filter(
    (field) => (spec[field] ?? '').length > 0,
  )
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  return [
    ...set.map((field) => forbidden(`spec.${field}`, 'may not be set for ExternalName services')),
    ...(name === '' ? [required('spec.externalName')] : checkSubdomain('spec.externalName', name)),
  ]
}

function checkServicePort(path: string, port: ServicePort, needsName: boolean, names: Set<string>): FieldError[] {
  const errors: FieldError[] = []
  if (port.name) {
    errors.push(...checkLabel(`${path}.name`, port.name))
    if (names.has(port.name)) errors.push(duplicate(`${path}.name`, port.name))
    names.add(port.name)
  } else if (needsName) errors.push(required(`${path}.name`))
  errors.push(...problemsAt(`${path}.port`, port.port, portProblems(port.port)))
  errors.push(...checkOneOf(`${path}.protocol`, port.protocol, protocols))
  errors.push(...checkPort(`${path}.targetPort`, port.targetPort))
  if (!port.appProtocol) return errors
  return [...errors, ...problemsAt(`${path}.appProtocol`, port.appProtocol, qualifiedNameProblems(port.appProtocol))]
}

function checkAffinity({ sessionAffinity, sessionAffinityConfig }: Partial<ServiceSpec>): FieldError[] {
  if (sessionAffinity !== 'ClientIP') return []
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0
  if (seconds > 0 && seconds <= 86_400) return []
  const path = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds'
  return [invalid(path, seconds, 'must be greater than 0 and less than 86400')]
}

function checkClusterIps(spec: Partial<ServiceSpec>): FieldError[] {
  if (spec.type === 'ExternalName') return []
  const { clusterIP, clusterIPs = [], ipFamilies = [] } = spec
  const errors: FieldError[] = []
  if (clusterIP && clusterIPs[0] !== clusterIP)
    errors.push(invalid('spec.clusterIPs', clusterIPs, 'first value must match `clusterIP`'))
  if (!clusterIP && clusterIPs.length > 0) {
    errors.push(invalid('spec.clusterIPs', clusterIPs, 'must be empty when `clusterIP` is not specified'))
  }
  const families = new Set<string>()
  for (const [index, family] of ipFamilies.entries()) {
    if (family !== 'IPv4' && family !== 'IPv6')
      errors.push(notSupported(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6']))
    if (families.has(family)) errors.push(duplicate(`spec.ipFamilies[${index}]`, family))
    families.add(family)
  }
  errors.push(
    ...checkOneOf('spec.ipFamilyPolicy', spec.ipFamilyPolicy, ['PreferDualStack', 'RequireDualStack', 'SingleStack']),
  )
  for (const [index, ip] of clusterIPs.entries()) {
    if (index > 0 || ip !== 'None') errors.push(...checkIp(`spec.clusterIPs[${index}]`, ip))
    else if (clusterIPs.length > 1)
      errors.push(invalid('spec.clusterIPs', clusterIPs, "'None' must be the first and only value"))
  }
  return errors
}

function checkExternalIp(path: string, ip: string): FieldError[] {
  const errors = checkIp(path, ip)
  return errors.length > 0 ? errors : checkEndpointIp(path, ip)
}

function checkPortsTogether({ type, ports = [] }: Partial<ServiceSpec>): FieldError[] {
  const errors: FieldError[] = []
  if (type === 'ClusterIP') {
    for (const [index, { nodePort }] of ports.entries()) {
      if (nodePort)
        errors.push(forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"))
    }
  }
  const key = ({ protocol = '' }: ServicePort, number: number): string => `${protocol}/${number}`
  const nodePorts = new Set<string>()
  for (const [index, port] of ports.entries()) {
    if (!port.nodePort) continue
    const isTaken = nodePorts.has(key(port, port.nodePort))
    if (isTaken) errors.push(duplicate(`spec.ports[${index}].nodePort`, port.nodePort))
    nodePorts.add(key(port, port.nodePort))
  }
  const taken = new Set<string>()
  for (const [index, port] of ports.entries()) {
    // Printed as the internal type, with only the compared fields set.
    const shown = { Name: '', Protocol: port.protocol, AppProtocol: null, Port: port.port, TargetPort: 0, NodePort: 0 }
    const isTaken = taken.has(key(port, port.port))
    if (isTaken) errors.push(inFieldOrder(duplicate(`spec.ports[${index}]`, shown), shown))
    taken.add(key(port, port.port))
  }
  return errors
}

function checkTraffic(spec: Partial<ServiceSpec>): FieldError[] {
  const onlyBalancer = "may only be used when `type` is 'LoadBalancer'"
  const errors: FieldError[] = []
  if ((spec.loadBalancerSourceRanges ?? []).length > 0 && spec.type !== 'LoadBalancer') {
    errors.push(forbidden('spec.LoadBalancerSourceRanges', onlyBalancer))
  }
  if (spec.allocateLoadBalancerNodePorts !== undefined && spec.type !== 'LoadBalancer') {
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', onlyBalancer))
  }
  const policy = spec.externalTrafficPolicy
  if (isExternal(spec)) errors.push(...checkOneOf('spec.externalTrafficPolicy', policy, ['Cluster', 'Local']))
  else if (policy)
    errors.push(invalid('spec.externalTrafficPolicy', policy, 'may only be set for externally-accessible services'))
  if (spec.healthCheckNodePort && !needsHealthCheck(spec)) {
    const rule = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    errors.push(invalid('spec.healthCheckNodePort', spec.healthCheckNodePort, rule))
  }
  errors.push(...checkOneOf('spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']))
  return [
    ...errors,
    ...checkOneOf('spec.trafficDistribution', spec.trafficDistribution, [
      'PreferClose',
      'PreferSameZone',
      'PreferSameNode',
    ]),
  ]
}

function validateChange(service: KubeObject, old: KubeObject): FieldError[] {
  const [spec, oldSpec] = [specOf(service), specOf(old)]
  if (spec.type === 'ExternalName' || oldSpec.type === 'ExternalName') return []
  if (isHeadless(spec) && isHeadless(oldSpec)) return []
  const [ips, oldIps] = [spec.clusterIPs ?? [], oldSpec.clusterIPs ?? []]
  if (ips.length === 0 && oldIps.length > 0)
    return [invalid('spec.clusterIPs[0]', null, 'primary clusterIP can not be unset')]
  return oldIps.flatMap((ip, index) =>
    index < ips.length && ips[index] !== ip
      ? [invalid(`spec.clusterIPs[${index}]`, ips, 'may not change once set')]
      : [],
  )
}

/** Since Kubernetes 1.36 a service name may begin with a digit. */
export function createServiceRules(): KindRules {
  const allocate = createServiceAllocator()
  return {
    nameProblems: labelNameProblems,
    hasStatus: true,
    prepareForCreate(service) {
      syncClusterIps(specOf(service))
      allocate(service)
    },
    prepareForUpdate(service, old) {
      syncClusterIps(specOf(service))
      prepareForUpdate(service, old)
      allocate(service)
    },
    validate,
    validateChange,
    selectable: {
      'spec.clusterIP': (service) => specOf(service).clusterIP ?? '',
      'spec.type': (service) => specOf(service).type ?? '',
    },
    extra: { allowsCreateOnUpdate: true, returnsDeletedObject: true },
  }
}
