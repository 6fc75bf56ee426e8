/** Empties namespaces that are being deleted, says in their status what still holds them, and lets them go. */
import type { JsonObject, KubeObject } from '../../kube/objects.ts'
import { formatGroupResource } from '../../kube/objects.ts'
import type { Parts } from '../call.ts'
import type { ServedResource } from '../resource.ts'
import { type Change, parseStored, type Stored } from '../storage/stored.ts'
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
  readonly #terminating = new Set<string>()
  readonly #pending: FollowUp<string>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#pending = new FollowUp(parts, controller, (name) => this.#terminate(name))
    this.#hand = new Hand(parts, controller, ({ namespace }) => this.#pending.add(namespace))
    parts.store.subscribe(undefined, (change) => this.#hear(change))
  }

  #hear({ type, current }: Change): void {
    if (current.collection === collection) {
      if (type === 'DELETED') this.#terminating.delete(current.name)
      else if (current.isDeleting) this.#begin(current)
    } else if (this.#terminating.has(current.namespace)) {
      this.#pending.add(current.namespace)
    }
  }

  #begin(stored: Stored): void {
    this.#terminating.add(stored.name)
    this.#pending.add(stored.name)
  }

  #terminate(name: string): void {
    const found = this.#parts.store.collection(collection).get(name)
    if (found === undefined) return
    const contents = this.#contentsOf(name)
    for (const { objects } of contents) for (const stored of objects) this.#delete(stored)
    const remaining = this.#contentsOf(name)
    this.#reportOn(name, remaining)
    if (remaining.length === 0) this.#release(name)
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
  #reportOn(name: string, remaining: ReadonlyArray<{ resource: ServedResource; objects: readonly Stored[] }>): void {
    const now = timestamp(this.#parts)
    const conditions = [...stillConditions, contentCondition(remaining), finalizerCondition(remaining)]
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

type Remaining = ReadonlyArray<{ resource: ServedResource; objects: readonly Stored[] }>

function contentCondition(remaining: Remaining): { type: string; status: string; reason: string; message: string } {
  const type = 'NamespaceContentRemaining'
  if (remaining.length === 0) {
    return { type, status: 'False', reason: 'ContentRemoved', message: 'All content successfully removed' }
  }
  const counts = remaining
    .map(({ resource, objects }) => `${formatGroupVersionResource(resource)} has ${objects.length} resource instances`)
    .sort()
  const message = `Some resources are remaining: ${counts.join(', ')}`
  return { type, status: 'True', reason: 'SomeResourcesRemain', message }
}

function formatGroupVersionResource(resource: ServedResource): string {
  return resource.group === '' ? `${resource.plural}.` : formatGroupResource(resource)
}

function finalizerCondition(remaining: Remaining): { type: string; status: string; reason: string; message: string } {
  const type = 'NamespaceFinalizersRemaining'
  const counts = new Map<string, number>()
  for (const { objects } of remaining) {
    for (const stored of objects) {
      for (const name of parseStored(stored).metadata.finalizers ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  if (counts.size === 0) {
    const message = 'All content-preserving finalizers finished'
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message }
  }
  const list = [...counts].map(([name, count]) => `${name} in ${count} resource instances`).sort()
  const message = `Some content in the namespace has finalizers remaining: ${list.join(', ')}`
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message }
}
