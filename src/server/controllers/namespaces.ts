/** Empties namespaces that are being deleted, says in their status what still holds them, and lets them go. */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { formatGroupResource } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import type { ServedResource } from '../resource.ts'
import type { Change, Stored } from '../storage/stored.ts'
import { updateObject } from '../verbs/change.ts'
import { controllerManager } from '../verbs/owning.ts'
import { timestamp } from '../verbs/write.ts'
import { FollowUp } from './follow-up.ts'
import { plainDeletion } from './garbage.ts'
import { Hand } from './hand.ts'

const collection = 'namespaces'
const controller = 'namespace-controller'

export class NamespaceTerminator {
  readonly #parts: Parts
  readonly #hand: Hand

  /** The namespaces that are being deleted: only there is it worth listening. */
  readonly #terminating = new Map<string, Contents>()
  readonly #pending: FollowUp<string>

  /** Namespaces of which an object has gone or changed: their status is written again. */
  readonly #changed: FollowUp<string>

  /** Objects whose deletion a webhook has refused or delayed. */
  readonly #retried: FollowUp<Stored>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pending = new FollowUp(parts, controller, (name) => this.#terminate(name))
    this.#changed = new FollowUp(parts, controller, (name) => this.#report(name))
    this.#retried = new FollowUp(parts, controller, (stored) => this.#delete(stored))
    this.#hand = new Hand(parts, controller, (stored) => {
      this.#retried.add(stored)
      this.#changed.add(stored.namespace)
    })
    parts.store.subscribe(undefined, (change) => this.#hear(change))
  }

  #hear({ type, current }: Change): void {
    if (current.collection === collection) {
      if (type === 'DELETED') this.#terminating.delete(current.name)
      else if (current.isDeleting) this.#begin(current)
      return
    }
    const contents = this.#terminating.get(current.namespace)
    if (contents === undefined) return
    if (type === 'DELETED') contents.delete(current)
    else contents.set(current)
    if (type !== 'DELETED' && !current.isDeleting) this.#retried.add(current)
    this.#changed.add(current.namespace)
  }

  /** Only the first state of the namespace that is being deleted empties it; its own writes to the status come back here. */
  #begin(stored: Stored): void {
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
    const resource = this.#parts.registry.keeperOf(current)!
    this.#hand.delete(resource, current, { ...plainDeletion, propagationPolicy: 'Background' })
  }

  #contentsOf(namespace: string): Array<{ resource: ServedResource; objects: readonly Stored[] }> {
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

  /** The five conditions that the real controller keeps, in its words. */
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

type Remaining = ReadonlyArray<{ readonly resource: ServedResource; readonly count: number }>

/** How many objects there are in a namespace that is being deleted, counted with every change: never listed again. */
class Contents {
  /** By collection. */
  readonly objects = new Map<string, number>()
  readonly finalizers = new Map<string, number>()

  /** The finalizers of each counted object: a change may be heard of twice, and counts once. */
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

function formatGroupVersionResource(resource: ServedResource): string {
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
