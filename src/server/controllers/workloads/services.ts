/** The controllers of EndpointSlices and Endpoints for the pods that Services select. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isDeepEqual } from '../../../util/json/deep-equal.ts'
import type { ServerContext } from '../../call.ts'
import { serviceAccount } from '../call-as.ts'
import {
  isHeadless,
  managedByLabel,
  type Service,
  selectPods,
  serviceNameLabel,
  sliceManager,
  toSliceMetadata,
  toSlices,
  toSubsets,
} from './endpoints.ts'
import { ObjectWriter } from './object-writer.ts'
import { find, findByKey, follow, list } from './reading.ts'
import type { Pod } from './shapes.ts'
import { WorkQueue } from './work-queue.ts'

const slices = 'discovery.k8s.io/endpointslices'
const managedEndpoints = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }

export class ServiceController {
  readonly #parts: ServerContext
  readonly #slices: ObjectWriter
  readonly #endpoints: ObjectWriter
  readonly #queue: WorkQueue

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#slices = new ObjectWriter(parts, serviceAccount('endpointslice-controller'))
    this.#endpoints = new ObjectWriter(parts, serviceAccount('endpoint-controller'))
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'services')
    follow(parts, 'services', ({ current }) => this.#queue.add(current.key))
    follow(parts, 'pods', ({ current, previous }) => {
      for (const { namespace, labels = {} } of previous === undefined ? [current] : [previous, current]) {
        this.#enqueueServices(namespace, labels)
      }
    })
    follow(parts, slices, ({ current }) => this.#enqueueOwner(current.namespace, current.labels?.[serviceNameLabel]))
    follow(parts, 'endpoints', ({ current }) => this.#enqueueOwner(current.namespace, current.name))
  }

  #enqueueServices(namespace: string, labels: Readonly<Record<string, string>>): void {
    for (const { metadata, spec } of list<Service>(this.#parts, 'services', namespace)) {
      const wanted = Object.entries(spec.selector ?? {})
      const isConcerned = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value)
      if (isConcerned) this.#enqueueOwner(namespace, metadata.name)
    }
  }

  #enqueueOwner(namespace: string, name: string | undefined): void {
    if (name !== undefined) this.#queue.add(`${namespace}/${name}`)
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const service = findByKey<Service>(this.#parts, 'services', key)
    if (service === undefined) return this.#deleteEndpoints(namespace, name)
    if (!service.spec.selector || service.spec.type === 'ExternalName') return
    const pods = selectPods(service, list<Pod>(this.#parts, 'pods', namespace))
    await this.#writeSlices(service, pods)
    await this.#writeEndpoints(service, pods)
  }

  /** EndpointSlices are garbage-collected with their Service. Endpoints have no owner reference and are deleted here. */
  async #deleteEndpoints(namespace: string, name: string): Promise<void> {
    const left = find(this.#parts, 'endpoints', namespace, name)
    const isOurs = left?.metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller'
    if (left !== undefined && isOurs) await this.#endpoints.delete(left)
  }

  async #writeSlices(service: Service, pods: readonly Pod[]): Promise<void> {
    const { name, namespace = '' } = service.metadata
    const present = list<KubeObject>(this.#parts, slices, namespace).filter(({ metadata }) => {
      const { [serviceNameLabel]: owner, [managedByLabel]: manager } = metadata.labels ?? {}
      return owner === name && manager === sliceManager && metadata.deletionTimestamp === undefined
    })
    const desired = toSlices(service, pods)
    const metadata = toSliceMetadata(service)
    for (const [index, content] of desired.entries()) {
      const known = present[index]
      const type = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' }
      if (known === undefined) await this.#slices.create({ ...type, metadata, ...content })
      else if (!isSame(known, content) || !isDeepEqual(known.metadata.labels, metadata.labels)) {
        await this.#slices.update({ ...known, metadata: { ...known.metadata, labels: metadata.labels! }, ...content })
      }
    }
    for (const surplus of present.slice(desired.length)) await this.#slices.delete(surplus)
  }

  async #writeEndpoints(service: Service, pods: readonly Pod[]): Promise<void> {
    const { name = '', namespace = '', labels, creationTimestamp = '' } = service.metadata
    const headless = isHeadless(service) ? { 'service.kubernetes.io/headless': '' } : {}
    const desired = { ...labels, ...managedEndpoints, ...headless }
    const subsets = toSubsets(service, pods)
    const known = find<KubeObject>(this.#parts, 'endpoints', namespace, name)
    if (known === undefined) {
      const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': creationTimestamp }
      const metadata = { name, namespace, labels: desired, annotations }
      await this.#endpoints.create({ apiVersion: 'v1', kind: 'Endpoints', metadata, subsets })
    } else if (!isDeepEqual(known['subsets'] ?? [], subsets) || !isDeepEqual(known.metadata.labels, desired)) {
      await this.#endpoints.update({ ...known, metadata: { ...known.metadata, labels: desired }, subsets })
    }
  }
}

function isSame(known: KubeObject, { endpoints, ports }: { endpoints: object[] | null; ports: unknown }): boolean {
  return isDeepEqual(known['endpoints'] ?? null, endpoints) && isDeepEqual(known['ports'] ?? null, ports)
}
