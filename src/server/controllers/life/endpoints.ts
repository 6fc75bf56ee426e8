/** Where a service leads: the addresses of the pods that it selects, in the forms of both kinds that tell of it. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isFinished, isReady, isTerminating } from './pods-of-sets.ts'
import { controllerReference } from './reading.ts'
import type { Pod } from './shapes.ts'

interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly protocol: string
  readonly appProtocol?: string
}

export interface Service extends KubeObject {
  spec: {
    readonly type: string
    readonly clusterIP?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: readonly ServicePort[]
    readonly publishNotReadyAddresses?: boolean
  }
}

interface Port {
  readonly name: string
  readonly port: number
  readonly protocol: string
}

/** Pods whose ports are the same ones: a port by name may be another number in each pod. */
interface Group {
  readonly ports: readonly Port[]
  readonly pods: Pod[]
}

export const serviceNameLabel = 'kubernetes.io/service-name'
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
export const sliceManager = 'endpointslice-controller.k8s.io'

const endpointsPerSlice = 100

export function isHeadless({ spec }: Service): boolean {
  return spec.clusterIP === 'None'
}

export function selectPods({ spec }: Service, pods: readonly Pod[]): Pod[] {
  const wanted = Object.entries(spec.selector ?? {})
  return pods.filter(
    (pod) =>
      pod.status.podIP !== undefined &&
      !isFinished(pod) &&
      wanted.every(([key, value]) => pod.metadata.labels?.[key] === value),
  )
}

function groupByPorts({ spec }: Service, pods: readonly Pod[]): Group[] {
  const groups = new Map<string, Group>()
  for (const pod of pods) {
    const ports = (spec.ports ?? []).flatMap((port) => resolvePort(port, pod))
    if (ports.length === 0 && (spec.ports ?? []).length > 0) continue
    const key = JSON.stringify(ports)
    const group = groups.get(key) ?? { ports, pods: [] }
    group.pods.push(pod)
    groups.set(key, group)
  }
  return [...groups.values()]
}

function resolvePort(
  { name = '', port, targetPort = port, protocol, appProtocol }: ServicePort,
  { spec }: Pod,
): Port[] {
  const found =
    typeof targetPort === 'number'
      ? targetPort
      : spec.containers
          .flatMap(({ ports = [] }) => ports)
          .find((one) => one.name === targetPort && (one.protocol ?? 'TCP') === protocol)?.containerPort
  return found === undefined ? [] : [{ name, port: found, protocol, ...(appProtocol && { appProtocol }) }]
}

/** The contents of each slice; one without any where there is nothing. */
export function toSlices(
  service: Service,
  pods: readonly Pod[],
): Array<{ endpoints: object[] | null; ports: readonly Port[] | null }> {
  const slices = groupByPorts(service, pods).flatMap(({ ports, pods }) => {
    const endpoints = pods.map((pod) => toEndpoint(service, pod))
    const parts = []
    for (let from = 0; from < endpoints.length; from += endpointsPerSlice) {
      parts.push({ endpoints: endpoints.slice(from, from + endpointsPerSlice), ports })
    }
    return parts
  })
  return slices.length > 0 ? slices : [{ endpoints: null, ports: null }]
}

function toEndpoint(service: Service, pod: Pod): object {
  const isServing = isReady(pod)
  const terminating = isTerminating(pod)
  return {
    addresses: [pod.status.podIP],
    conditions: {
      ready: service.spec.publishNotReadyAddresses === true || (isServing && !terminating),
      serving: isServing,
      terminating,
    },
    ...hostOf(service, pod),
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: referenceTo(pod),
  }
}

/** Pods of a stateful set have names of their own below that of their service. */
function hostOf({ metadata }: Service, { spec }: Pod): { hostname?: string } {
  return spec.hostname && spec.subdomain === metadata.name ? { hostname: spec.hostname } : {}
}

function referenceTo({ metadata }: Pod): object {
  const { name, namespace, uid } = metadata
  return { kind: 'Pod', name, namespace, uid }
}

export function toSliceMetadata(service: Service): KubeObject['metadata'] {
  const { name, namespace = '', labels, creationTimestamp = '' } = service.metadata
  return {
    generateName: `${name}-`,
    namespace,
    labels: {
      ...labels,
      [managedByLabel]: sliceManager,
      [serviceNameLabel]: name!,
      ...(isHeadless(service) && { 'service.kubernetes.io/headless': '' }),
    },
    annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': creationTimestamp },
    ownerReferences: [controllerReference(service)],
  }
}

/** The older form: addresses that are ready and those that are not, for each set of ports. */
export function toSubsets(service: Service, pods: readonly Pod[]): object[] {
  return groupByPorts(
    service,
    pods.filter((pod) => !isTerminating(pod)),
  ).map(({ ports, pods }) => {
    const isOpen = (pod: Pod) => service.spec.publishNotReadyAddresses === true || isReady(pod)
    const addressOf = (pod: Pod) => ({
      ip: pod.status.podIP!,
      ...hostOf(service, pod),
      ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
      targetRef: referenceTo(pod),
    })
    const [open, closed] = [pods.filter(isOpen), pods.filter((pod) => !isOpen(pod))].map((list) => list.map(addressOf))
    return {
      ...(open!.length > 0 && { addresses: open! }),
      ...(closed!.length > 0 && { notReadyAddresses: closed! }),
      ports: ports.map(({ name, ...port }) => ({ ...(name !== '' && { name }), ...port })),
    }
  })
}
