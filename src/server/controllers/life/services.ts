/** Services: endpoint slices, and the older endpoints, of the pods that they select. */
import type { KubeObject } from '../../../kube/objects.ts'
import { isDeepEqual } from '../../../util/equality.ts'
import type { Parts } from '../../call.ts'
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
import { find, findByKey, follow, list } from './reading.ts'
import type { Pod } from './shapes.ts'
import { WorkQueue } from './work-queue.ts'
import { Writer } from './writing.ts'

const slices = 'discovery.k8s.io/endpointslices'
const managedEndpoints = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }

export class ServiceController {
  readonly #parts: Parts
  readonly #slices: Writer
  readonly #endpoints: Writer
  readonly #queue: WorkQueue

  constructor(parts: Parts) {
    this.#parts = parts
    this.#slices = new Writer(parts, serviceAccount('endpointslice-controller'))
    this.#endpoints = new Writer(parts, serviceAccount('endpoint-controller'))
    this.#queue = new WorkQueue(parts, (key) => this.#sync(key), 'services')
    follow(parts, 'services', ({ current }) => this.#queue.add(current.key))
    follow(parts, 'pods', ({ current, previous }) => {
      for (const { namespace, labels = {} } of previous === undefined ? [current] : [previous, current]) {
        this.#tellServices(namespace, labels)
      }
    })
    follow(parts, slices, ({ current }) => this.#tellOwner(current.namespace, current.labels?.[serviceNameLabel]))
    follow(parts, 'endpoints', ({ current }) => this.#tellOwner(current.namespace, current.name))
  }

  #tellServices(namespace: string, labels: Readonly<Record<string, string>>): void {
    for (const { metadata, spec } of list<Service>(this.#parts, 'services', namespace)) {
      const wanted = Object.entries(spec.selector ?? {})
      const isConcerned = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value)
      if (isConcerned) this.#tellOwner(namespace, metadata.name)
    }
  }

  #tellOwner(namespace: string, name: string | undefined): void {
    if (name !== undefined) this.#queue.add(`${namespace}/${name}`)
  }

  async #sync(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const service = findByKey<Service>(this.#parts, 'services', key)
    if (service === undefined) return this.#forget(namespace, name)
    if (!service.spec.selector || service.spec.type === 'ExternalName') return
    const pods = selectPods(service, list<Pod>(this.#parts, 'pods', namespace))
    await this.#writeSlices(service, pods)
    await this.#writeEndpoints(service, pods)
  }

  /** Slices go with their owner; the older kind has none. */
  async #forget(namespace: string, name: string): Promise<void> {
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
    const wished = toSlices(service, pods)
    const metadata = toSliceMetadata(service)
    for (const [index, content] of wished.entries()) {
      const known = present[index]
      const type = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' }
      if (known === undefined) await this.#slices.create({ ...type, metadata, ...content })
      else if (!isSame(known, content) || !isDeepEqual(known.metadata.labels, metadata.labels)) {
        await this.#slices.update({ ...known, metadata: { ...known.metadata, labels: metadata.labels! }, ...content })
      }
    }
    for (const surplus of present.slice(wished.length)) await this.#slices.delete(surplus)
  }

  async #writeEndpoints(service: Service, pods: readonly Pod[]): Promise<void> {
    const { name = '', namespace = '', labels, creationTimestamp = '' } = service.metadata
    const headless = isHeadless(service) ? { 'service.kubernetes.io/headless': '' } : {}
    const wished = { ...labels, ...managedEndpoints, ...headless }
    const subsets = toSubsets(service, pods)
    const known = find<KubeObject>(this.#parts, 'endpoints', namespace, name)
    if (known === undefined) {
      const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': creationTimestamp }
      const metadata = { name, namespace, labels: wished, annotations }
      await this.#endpoints.create({ apiVersion: 'v1', kind: 'Endpoints', metadata, subsets })
    } else if (!isDeepEqual(known['subsets'] ?? [], subsets) || !isDeepEqual(known.metadata.labels, wished)) {
      await this.#endpoints.update({ ...known, metadata: { ...known.metadata, labels: wished }, subsets })
    }
  }
}

function isSame(known: KubeObject, { endpoints, ports }: { endpoints: object[] | null; ports: unknown }): boolean {
  return isDeepEqual(known['endpoints'] ?? null, endpoints) && isDeepEqual(known['ports'] ?? null, ports)
}
