/** Computes the EndpointSlices and Endpoints of a Service from its pods. Pure. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isFinished, isReady, isTerminating } from './pods-of-sets.ts'
import { controllerReference } from './reading.ts'
import type { Pod } from './shapes.ts'

export interface Service extends KubeObject {
  spec: {
    readonly type: string
    readonly clusterIP?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: ReadonlyArray<{
      readonly name?: string
      readonly port: number
      readonly targetPort?: number | string
      readonly protocol: string
      readonly appProtocol?: string
    }>
    readonly publishNotReadyAddresses?: boolean
  }
}

interface EndpointPort {
  readonly name: string
  readonly port: number
  readonly protocol: string
}

/** Pods with the same port numbers: a named port can have a different number in each pod. */
interface PortGroup {
  readonly ports: readonly EndpointPort[]
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

function groupByPorts({ spec }: Service, pods: readonly Pod[]): PortGroup[] {
  const groups = new Map<string, PortGroup>()
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
  { name = '', port, targetPort = port, protocol, appProtocol }: NonNullable<Service['spec']['ports']>[number],
  { spec }: Pod,
): EndpointPort[] {
  const found =
    typeof targetPort === 'number'
      ? targetPort
      : spec.containers
          .flatMap(({ ports = [] }) => ports)
          .find((one) => one.name === targetPort && (one.protocol ?? 'TCP') === protocol)?.containerPort
  return found === undefined ? [] : [{ name, port: found, protocol, ...(appProtocol && { appProtocol }) }]
}

/** The contents of each slice; a single empty slice if there are no endpoints. */
export function toSlices(
  service: Service,
  pods: readonly Pod[],
): Array<{ endpoints: object[] | null; ports: readonly EndpointPort[] | null }> {
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

/** Pods of a StatefulSet have their own DNS names below their service. */
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

/** The subsets of an Endpoints object: ready and not ready addresses per set of ports. */
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
