/**
 * The namespace controller: deletes the contents of a namespace that is being deleted, reports the remaining objects in its
 * status, and then removes its finalizer.
 */
import { formatGroupResource, type JsonObject, type KubeObject } from '../../kube/objects.ts'
import type { ServerContext } from '../call.ts'
import type { ApiResource } from '../resource.ts'
import type { StoreChange, Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { controllerManager } from '../verbs/owning.ts'
import { timestamp } from '../verbs/write.ts'
import { ControllerClient } from './controller-client.ts'
import { plainDeletion } from './garbage.ts'
import { MicrotaskQueue } from './microtask-queue.ts'

const collection = 'namespaces'
const controller = 'namespace-controller'

export class NamespaceTerminator {
  readonly #parts: ServerContext
  readonly #client: ControllerClient

  /** Namespaces being deleted. Changes in other namespaces are ignored. */
  readonly #terminating = new Map<string, Contents>()
  readonly #pending: MicrotaskQueue<string>

  /** Namespaces whose contents changed and whose status is due. */
  readonly #changed: MicrotaskQueue<string>

  /** Objects whose deletion a webhook rejected or delayed. */
  readonly #retried: MicrotaskQueue<Stored>

  constructor(parts: ServerContext) {
    this.#parts = parts
    this.#pending = new MicrotaskQueue(parts, controller, (name) => this.#terminate(name))
    this.#changed = new MicrotaskQueue(parts, controller, (name) => this.#report(name))
    this.#retried = new MicrotaskQueue(parts, controller, (stored) => this.#delete(stored))
    this.#client = new ControllerClient(parts, controller, (stored) => {
      this.#retried.add(stored)
      this.#changed.add(stored.namespace)
    })
    parts.store.subscribe(undefined, (change) => this.#handleChange(change))
  }

  #handleChange({ type, current }: StoreChange): void {
    if (current.collection === collection) {
      if (type === 'DELETED') this.#terminating.delete(current.name)
      else if (current.isDeleting) this.#startTermination(current)
      return
    }
    const contents = this.#terminating.get(current.namespace)
    if (contents === undefined) return
    if (type === 'DELETED') contents.delete(current)
    else contents.set(current)
    if (type !== 'DELETED' && !current.isDeleting) this.#retried.add(current)
    this.#changed.add(current.namespace)
  }

  /**
   * Queues the contents once, at the first revision with a deletionTimestamp. The controller's own status writes also arrive
   * here.
   */
  #startTermination(stored: Stored): void {
    if (this.#terminating.has(stored.name)) {
      this.#changed.add(stored.name)
      return
    }
    const contents = new Contents()
    for (const objects of this.#parts.store.collections()) {
      if (objects.name !== collection) for (const object of objects.list(stored.name)) contents.set(object)
    }
    this.#terminating.set(stored.name, contents)
    this.#pending.add(stored.name)
  }

  #terminate(name: string): void {
    for (const { objects } of this.#contentsOf(name)) for (const stored of objects) this.#delete(stored)
    this.#report(name)
  }

  #report(name: string): void {
    const contents = this.#terminating.get(name)
    if (contents === undefined || this.#parts.store.collection(collection).get(name) === undefined) return
    const remaining = this.#servedContents(contents)
    this.#reportOn(name, remaining, contents.finalizers)
    if (remaining.length === 0) this.#release(name)
  }

  #servedContents({ objects }: Contents): Remaining {
    const served = [...objects].map(([name, count]) => ({ resource: this.#parts.registry.storageOf(name), count }))
    return served.filter((one): one is Remaining[number] => one.resource?.namespaced === true)
  }

  #delete(stored: Stored): void {
    const current = this.#parts.store.collection(stored.collection).get(stored.key)
    if (current === undefined || current.isDeleting) return
    const resource = this.#parts.registry.resourceForStoredVersion(current)!
    this.#client.delete(resource, current, { ...plainDeletion, propagationPolicy: 'Background' })
  }

  #contentsOf(namespace: string): Array<{ resource: ApiResource; objects: readonly Stored[] }> {
    const contents = []
    for (const { name, size } of this.#parts.store.collections()) {
      if (size === 0 || name === collection) continue
      const resource = this.#parts.registry.storageOf(name)
      if (!resource?.namespaced) continue
      const objects = this.#parts.store.collection(name).list(namespace)
      if (objects.length > 0) contents.push({ resource, objects })
    }
    return contents
  }

  /** Writes the real controller's five conditions with its messages. */
  #reportOn(name: string, remaining: Remaining, finalizers: ReadonlyMap<string, number>): void {
    const now = timestamp(this.#parts)
    const conditions = [...stillConditions, contentCondition(remaining), finalizerCondition(finalizers)]
    this.#update(name, 'status', (object) => {
      const status = (object['status'] ?? {}) as JsonObject
      const known = (status['conditions'] ?? []) as JsonObject[]
      const merged = conditions.map((condition) => {
        const before = known.find(({ type }) => type === condition.type)
        const isSame = before?.['status'] === condition.status
        return { ...condition, lastTransitionTime: (isSame ? before?.['lastTransitionTime'] : undefined) ?? now }
      })
      return { ...object, status: { ...status, conditions: merged } }
    })
  }

  #release(name: string): void {
    this.#update(name, 'finalize', (object) => {
      const spec = (object['spec'] ?? {}) as { finalizers?: string[] }
      return { ...object, spec: { ...spec, finalizers: (spec.finalizers ?? []).filter((one) => one !== 'kubernetes') } }
    })
  }

  #update(name: string, part: 'status' | 'finalize', change: (object: KubeObject) => KubeObject): void {
    const resource = this.#parts.registry.storageOf(collection)
    const current = this.#parts.store.collection(collection).get(name)
    if (resource === undefined || current === undefined) return
    updateObject(this.#parts, resource, current, { change, part, dryRun: false, manager: controllerManager })
  }
}

const stillConditions = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  [
    'NamespaceDeletionContentFailure',
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
  ],
].map(([type = '', reason = '', message = '']) => ({ type, status: 'False', reason, message }))

type Remaining = ReadonlyArray<{ readonly resource: ApiResource; readonly count: number }>

/** Object counts of a namespace being deleted, updated with every change so that its contents are never listed again. */
class Contents {
  /** Counts by collection. */
  readonly objects = new Map<string, number>()
  readonly finalizers = new Map<string, number>()

  /** Finalizers of each counted object. A change that is reported twice is counted once. */
  readonly #counted = new Map<string, readonly string[]>()

  set(stored: Stored): void {
    this.delete(stored)
    const { collection: name, key, finalizers = [] } = stored
    this.#counted.set(`${name} ${key}`, finalizers)
    count(this.objects, name, 1)
    for (const finalizer of finalizers) count(this.finalizers, finalizer, 1)
  }

  delete({ collection: name, key }: Stored): void {
    const finalizers = this.#counted.get(`${name} ${key}`)
    if (finalizers === undefined) return
    this.#counted.delete(`${name} ${key}`)
    count(this.objects, name, -1)
    for (const finalizer of finalizers) count(this.finalizers, finalizer, -1)
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const sum = (counts.get(key) ?? 0) + by
  if (sum === 0) counts.delete(key)
  else counts.set(key, sum)
}

function contentCondition(remaining: Remaining): { type: string; status: string; reason: string; message: string } {
  const type = 'NamespaceContentRemaining'
  if (remaining.length === 0) {
    return { type, status: 'False', reason: 'ContentRemoved', message: 'All content successfully removed' }
  }
  const counts = remaining
    .map(({ resource, count }) => `${formatGroupVersionResource(resource)} has ${count} resource instances`)
    .sort()
  const message = `Some resources are remaining: ${counts.join(', ')}`
  return { type, status: 'True', reason: 'SomeResourcesRemain', message }
}

function formatGroupVersionResource(resource: ApiResource): string {
  return resource.group === '' ? `${resource.plural}.` : formatGroupResource(resource)
}

function finalizerCondition(counts: ReadonlyMap<string, number>): {
  type: string
  status: string
  reason: string
  message: string
} {
  const type = 'NamespaceFinalizersRemaining'
  if (counts.size === 0) {
    const message = 'All content-preserving finalizers finished'
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message }
  }
  const list = [...counts].map(([name, count]) => `${name} in ${count} resource instances`).sort()
  const message = `Some content in the namespace has finalizers remaining: ${list.join(', ')}`
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message }
}
